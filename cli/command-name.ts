/** What a user types to get this command: npx tells a process that it started it. */
export function commandName(env: NodeJS.ProcessEnv): string {
  return env['npm_command'] === 'exec' ? 'npx holdpoint' : 'holdpoint';
}
