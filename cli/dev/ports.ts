import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseStrictJson } from '../../core/json';
import { freePort } from '../../worker/free-port';

const ports = z.strictObject({
  temporal: z.int(),
  ui: z.int(),
  health: z.int(),
  example: z.int(),
  // A folder that was made before there was a gateway or a console has none.
  gateway: z.int().default(8484),
  console: z.int().default(8485),
});

/**
 * The ports of a state folder. They are kept over restarts: the example's address is part of what was approved, and the
 * gateway's stands in the settings of clients.
 */
export type Ports = Readonly<z.infer<typeof ports>>;

const USUAL: Ports = { temporal: 7233, ui: 8233, health: 9464, example: 4100, gateway: 8484, console: 8485 };

const ANY: Ports = { temporal: 0, ui: 0, health: 0, example: 0, gateway: 0, console: 0 };

/** The ports of the last start, or the usual ones (`any`: whatever is free); another one for each that is taken. */
export async function choosePorts(stateDir: string, first: 'usual' | 'any'): Promise<Ports> {
  const wanted = (await readPorts(stateDir)) ?? (first === 'usual' ? USUAL : ANY);
  return {
    temporal: await freePort(wanted.temporal),
    ui: await freePort(wanted.ui),
    health: await freePort(wanted.health),
    example: await freePort(wanted.example),
    gateway: await freePort(wanted.gateway),
    console: await freePort(wanted.console),
  };
}

async function readPorts(stateDir: string): Promise<Ports | null> {
  const text = await readFile(fileOf(stateDir), 'utf8').catch(() => null);
  const json = text === null ? null : parseStrictJson(text);
  const parsed = ports.safeParse(json?.ok === true ? json.value : null);
  return parsed.success ? parsed.data : null;
}

export async function keepPorts(stateDir: string, chosen: Ports): Promise<void> {
  await writeFile(fileOf(stateDir), `${JSON.stringify(chosen)}\n`);
}

function fileOf(stateDir: string): string {
  return join(stateDir, 'ports.json');
}
