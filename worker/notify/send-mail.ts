import { createTransport } from 'nodemailer';
import type { Log } from '../../ledger/log';
import type { Attempt } from '../relay-endpoint';
import type { MailServer } from './channel-settings';
import { failureDetail } from './failure-detail';
import type { Mail } from './mail';

/** One attempt to hand a mail to a mail server, which is over after `timeoutMs`. */
export type SendMail = (mail: Mail, timeoutMs: number) => Promise<Attempt>;

/** Sends through one mail server, with a connection of its own for each mail. */
export function mailSender(server: MailServer, log: Log): SendMail {
  const secrets = server.login === null ? [] : [server.login.password];
  return async (mail, timeoutMs) => {
    try {
      const refused = await inTime(timeoutMs, submit(server, mail, timeoutMs));
      // Those who got it would get it again.
      if (refused > 0) log.warn({ messageId: mail.messageId, refused }, 'mail not taken for some addresses');
      return { kind: 'sent' };
    } catch (error) {
      const { detail, isFinal } = judged(error);
      return { kind: 'failed', detail: failureDetail(detail, secrets), retryAfterMs: null, isFinal };
    }
  };
}

/** Answers how many addresses were refused; throws where all were. */
async function submit(server: MailServer, mail: Mail, timeoutMs: number): Promise<number> {
  const { host, port, secure, requireTls, login } = server;
  const transport = createTransport({
    ...{ host, port, secure, requireTLS: requireTls },
    ...(login !== null && { auth: { user: login.user, pass: login.password } }),
    ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs, dnsTimeout: timeoutMs },
    // A mail of ours has no attachment: nothing in it may name a file or an address to fetch.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  const { rejected } = await transport.sendMail({ ...mail, to: [...mail.to], headers: { ...mail.headers } });
  return rejected.length;
}

async function inTime<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not taken within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A 5xx answer to the mail or to all of its addresses is final (RFC 5321, 4.2.1); one to the login is for the operator. */
function judged(error: unknown): { readonly detail: string; readonly isFinal: boolean } {
  const { message = String(error), code = '', responseCode = 0 } = failureOf(error);
  const isFinal = (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode >= 500;
  return { detail: message.replace(/\s+/g, ' '), isFinal };
}

interface SmtpFailure {
  readonly message?: string;
  readonly code?: string;
  readonly responseCode?: number;
}

function failureOf(error: unknown): SmtpFailure {
  if (typeof error !== 'object' || error === null) return {};
  const message: unknown = Reflect.get(error, 'message');
  const code: unknown = Reflect.get(error, 'code');
  const responseCode: unknown = Reflect.get(error, 'responseCode');
  return {
    ...(typeof message === 'string' && { message }),
    ...(typeof code === 'string' && { code }),
    ...(typeof responseCode === 'number' && { responseCode }),
  };
}
