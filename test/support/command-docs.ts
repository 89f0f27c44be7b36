import type { Command } from 'commander';

/** The leaves of a command tree, each with its words from the root on: `holdpoint turn start`. */
export function leavesOf(
  command: Command,
  path: readonly string[] = [],
): readonly { readonly words: string; readonly command: Command }[] {
  const own = [...path, command.name()];
  const children = command.commands.filter((child) => child.name() !== 'help');
  if (children.length === 0) return [{ words: own.join(' '), command }];
  return children.flatMap((child) => leavesOf(child, own));
}

/** What `--help` prints, as a program's reader gets it. */
export function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100 });
  command.outputHelp();
  return text.trimEnd();
}

/** The section of docs/cli.md between its two marks: the help of every command. */
export function commandDocs(program: Command): string {
  return leavesOf(program)
    .map(({ words, command }) => `### ${words}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``)
    .join('\n\n');
}
