import { LineReader } from '../../activities/line-reader';

function read(maxBytes: number, ...chunks: (string | Buffer)[]): (string | undefined)[] {
  const lines: (string | undefined)[] = [];
  const reader = new LineReader(maxBytes, (line) => lines.push(line));
  for (const chunk of chunks) reader.add(Buffer.from(chunk));
  return lines;
}

describe('LineReader', () => {
  it('puts lines together, also where a chunk splits a character [WIRE-5]', () => {
    const bytes = Buffer.from('é\n😀\n');
    const single = [...bytes].map((byte) => Buffer.from([byte]));
    expect(read(100, ...single)).toEqual(['é', '😀']);
    expect(read(100, bytes)).toEqual(['é', '😀']);
  });

  it('gives no line before its end', () => {
    expect(read(100, 'a', 'b')).toEqual([]);
    expect(read(100, 'a', 'b\n\nc')).toEqual(['ab', '']);
  });

  it('skips a line that is too long, and goes on behind it', () => {
    expect(read(3, 'abc\nabcd\nef\n')).toEqual(['abc', undefined, 'ef']);
    expect(read(3, 'ab', 'cd', 'ef', 'g\nhi\n')).toEqual([undefined, 'hi']);
  });
});
