import { unreachable } from '../../core/unreachable';
import type { Log } from '../../ledger/log';
import type { Attempt } from '../relay-endpoint';
import type { ChannelSettings } from './channel-settings';
import { mailOf } from './mail';
import type { Limits, Notice } from './notice';
import { pagerDutyEvent } from './pagerduty-event';
import { postJson } from './post-json';
import { mailSender } from './send-mail';
import { slackMessage } from './slack-message';
import { teamsMessage } from './teams-message';

/** One channel that takes notices. */
export interface Sender {
  readonly limits: Limits;
  /** One attempt. `key` is the same for each try of the same notice. */
  send(notice: Notice, attempt: { readonly key: string; readonly timeoutMs: number }): Promise<Attempt>;
}

/** Chat messages and alerts are short; Teams takes 28 KB in all, where a character may have three bytes. */
const SHORT: Limits = { value: 600, total: 5_000, fields: 20 };
const LONG: Limits = { value: 20_000, total: 100_000, fields: 200 };

interface Sending {
  readonly requesters: Readonly<Record<string, string>>;
  readonly log: Log;
}

export function senderOf(settings: ChannelSettings, sending: Sending): Sender {
  switch (settings.kind) {
    case 'slack':
    case 'teams': {
      const { url } = settings;
      const format = settings.kind === 'slack' ? slackMessage : teamsMessage;
      const secrets = [url, new URL(url).pathname.slice(1), new URL(url).search.slice(1)];
      return {
        limits: SHORT,
        send: (notice, { timeoutMs }) => postJson({ url, body: format(notice), timeoutMs, secrets }),
      };
    }
    case 'pagerduty': {
      const { url, routingKey } = settings;
      return {
        limits: SHORT,
        send: (notice, { timeoutMs }) =>
          postJson({ url, body: pagerDutyEvent(notice, routingKey), timeoutMs, secrets: [routingKey] }),
      };
    }
    case 'email':
      return mailChannel(settings, sending);
    default:
      return unreachable(settings);
  }
}

/** An outcome goes to the requester, where the settings know an address; all else to the people of the channel. */
function mailChannel(
  { server, from, to }: ChannelSettings & { readonly kind: 'email' },
  { requesters, log }: Sending,
): Sender {
  const sendMail = mailSender(server, log);
  return {
    limits: LONG,
    send: async (notice, { key, timeoutMs }) => {
      const own = Object.hasOwn(requesters, notice.subject) ? requesters[notice.subject] : undefined;
      const recipients = notice.kind === 'outcome' && own !== undefined ? [own] : to;
      if (recipients.length === 0) {
        return { kind: 'unsent', reason: 'no address of its requester is known', againInMs: null };
      }
      return sendMail(mailOf(notice, { key, from, to: recipients }), timeoutMs);
    },
  };
}
