import type { RouteConfig, z } from '@hono/zod-openapi';
import { asciiJson } from './ascii-json';
import { PROBLEMS, type ProblemCode } from './problem-codes';
import { problemSchema } from './problem-schema';

type Responses = RouteConfig['responses'];
type Content = Record<string, { readonly schema: z.ZodType; readonly example?: string }>;

/** What every route may answer. */
const ALWAYS = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'FOREIGN_HOST',
  'FOREIGN_ORIGIN',
  'INTERNAL',
  'UNAVAILABLE',
] as const;

/** The documented answers of a route: one that is good, and a problem for each status that `codes` have. */
export function answers(
  good: { readonly description: string; readonly content: Content },
  codes: readonly ProblemCode[] = [],
): Responses {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of [...ALWAYS, ...codes]) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const problems = [...byStatus].map(([status, of]) => [String(status), problemResponse(of)] as const);
  return { 200: good, ...Object.fromEntries(problems) };
}

export function jsonContent<Schema extends z.ZodType>(schema: Schema) {
  return { 'application/json': { schema } };
}

function problemResponse(codes: readonly ProblemCode[]): Responses[string] {
  const description = codes.map((code) => `${code}: ${PROBLEMS[code].title}.`).join(' ');
  return { description, content: { 'application/problem+json': { schema: problemSchema } } };
}

/** A good answer. The compiler checks its shape by the schema that documents it, and tests the documents themselves. */
export function answer<Schema extends z.ZodType>(_schema: Schema, body: z.input<Schema>): Response {
  return new Response(asciiJson(body), {
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
  });
}
