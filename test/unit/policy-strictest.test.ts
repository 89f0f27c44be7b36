import { strictestBind, strictestValidity } from '../../core/strictest';
import type { Validity } from '../../core/policy';

const window = (parts: Partial<Extract<Validity, { kind: 'window' }>>): Validity => ({
  kind: 'window',
  uses: null,
  durationMs: null,
  total: {},
  ...parts,
});

test.each([
  { modes: ['tool', 'material', 'arguments'] as const, strictest: 'arguments' },
  { modes: ['tool', 'material'] as const, strictest: 'material' },
  { modes: ['tool', 'tool'] as const, strictest: 'tool' },
  { modes: [] as const, strictest: 'arguments' },
])('of $modes the strictest binding is $strictest', ({ modes, strictest }) => {
  expect(strictestBind(modes)).toBe(strictest);
});

test.each<{ name: string; validities: Validity[]; strictest: Validity }>([
  { name: 'nothing', validities: [], strictest: { kind: 'once' } },
  { name: 'once after a window', validities: [window({ uses: 1 }), { kind: 'once' }], strictest: { kind: 'once' } },
  { name: 'once before a window', validities: [{ kind: 'once' }, window({ uses: 1 })], strictest: { kind: 'once' } },
  { name: 'one window', validities: [window({ uses: 3 })], strictest: window({ uses: 3 }) },
  {
    name: 'uses and minutes',
    validities: [window({ uses: 3, durationMs: 9 }), window({ durationMs: 5 }), window({ uses: 4 })],
    strictest: window({ uses: 3, durationMs: 5 }),
  },
  {
    name: 'totals',
    validities: [window({ total: { a: 5, b: 1 } }), window({ total: { a: 3, c: 7 } })],
    strictest: window({ total: { a: 3, b: 1, c: 7 } }),
  },
])('the strictest validity of $name', ({ validities, strictest }) => {
  expect(strictestValidity(validities)).toEqual(strictest);
});
