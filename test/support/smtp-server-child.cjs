'use strict';

/**
 * A mail server in a process of its own. It says { port }, then { mail: { from, to, raw, user } } for each mail that it
 * takes, and { refused } for each that it does not. `{ refuse: { at, code, text, only } }` makes it refuse from then on;
 * `{ refuse: null }` ends that. With the argument `tls` it speaks TLS, with a certificate that nobody vouches for.
 */
const { SMTPServer } = require('smtp-server');

let refuse = null;

function refusal(at, address) {
  if (refuse === null || refuse.at !== at || (refuse.only !== undefined && refuse.only !== address)) return null;
  process.send({ refused: at });
  return Object.assign(new Error(refuse.text), { responseCode: refuse.code });
}

const server = new SMTPServer({
  secure: process.argv[2] === 'tls',
  authOptional: true,
  allowInsecureAuth: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  onAuth: ({ username, password }, _session, done) => {
    const error = password === 'the-password' ? refusal('login') : (refusal('login') ?? new Error('wrong password'));
    done(error, { user: username });
  },
  onRcptTo: ({ address }, _session, done) => done(refusal('recipient', address)),
  onData: (stream, session, done) => {
    const chunks = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('end', () => {
      const error = refusal('content');
      if (error !== null) return done(error);
      const { mailFrom, rcptTo } = session.envelope;
      const to = rcptTo.map(({ address }) => address);
      const raw = Buffer.concat(chunks).toString('utf8');
      process.send({ mail: { from: mailFrom.address, to, raw, user: session.user ?? null } });
      return done();
    });
  },
});
server.on('error', () => undefined);
server.listen(0, '127.0.0.1', () => process.send({ port: server.server.address().port }));
process.on('message', ({ refuse: next }) => {
  refuse = next;
  process.send({ refusing: next !== null });
});
process.on('disconnect', () => process.exit());
