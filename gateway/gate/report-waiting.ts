import type { CallState } from '../../core/call-state';
import { cut, showText } from '../../core/display';
import type { HeldCall } from './held-call';
import type { Hold } from './hold';

/** Clients that count from the latest sign of progress wait at least ten seconds for the next one. */
const EVERY_MS = 5_000;
const LONGEST_NAME = 200;

/**
 * Tells a client that asked for progress what its call waits for, as soon as that is known and then time and again.
 * @returns what ends that.
 */
export function reportWaiting(
  hold: Hold,
  { incoming: { notify }, call }: HeldCall,
  state: CallState | null,
): () => void {
  const { progressToken, tool } = call;
  if (progressToken === null || notify === undefined) return () => undefined;
  let latest = state;
  let progress = 0;
  const report = (): void => {
    const message = messageOf(latest, { tool: cut(showText(tool), LONGEST_NAME), isRunning: hold.running });
    if (message === null) return;
    progress += 1;
    notify('notifications/progress', { progressToken, progress, message });
  };
  const timer = setInterval(report, EVERY_MS);
  const stopListening = hold.listen((heard) => {
    latest = heard;
    if (heard.status === 'pending') report();
  });
  report();
  return () => {
    clearInterval(timer);
    stopListening();
  };
}

function messageOf(state: CallState | null, at: { readonly tool: string; readonly isRunning: boolean }): string | null {
  const { tool, isRunning } = at;
  if (isRunning) return `${tool} was let through and is being carried out`;
  if (state?.status !== 'pending') return null;
  const { shortId, deadlineAtMs } = state.request;
  return `${tool} waits for approval by a person (short id ${shortId}): not executed. ${timeLeft(deadlineAtMs - Date.now())} left until it expires`;
}

/** Rounded down: never more than there is. */
function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
}
