import { MAX_JSON_DEPTH } from '../../core/json-value';
import { edited, itemsOf, lastMember, membersOf, rootOf, withoutParts } from '../wire/json-spans';
import type { Edit, MemberSpan, Span } from '../wire/json-spans';

/** A schema that was moved to another place: its text there, and the text of its `$schema`, which only a root has. */
export interface MovedSchema {
  readonly text: string;
  readonly dialect: string | null;
}

/** Hold data, in which `$ref` is an ordinary name. */
const DATA = new Set(['const', 'enum', 'default', 'examples', 'example']);

/** Hold schemas by names of the author's own, of which none is a keyword. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);

/** Tie a schema to its place in ways that validators do not agree on. */
const TIES = new Set(['$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveAnchor', '$recursiveRef']);

/**
 * A root schema as it reads under `pointer` of another one: what points into it points there, its own `$id` (by which
 * nobody can fetch it) is taken away, and all else is kept to the byte. References to other documents stay, whether
 * or not anybody can follow them. Null where it cannot be moved for sure: with an `$id` further inside, anchors, dynamic
 * references, or deeper than 64.
 * @param text JSON of an object.
 * @param pointer such as `/anyOf/0`.
 */
export function movedSchema(text: string, pointer: string): MovedSchema | null {
  const members = membersOf(text, rootOf(text));
  const dialect = lastMember(members, '$schema');
  const isGone = ({ name }: MemberSpan): boolean => name === '$schema' || name === '$id';
  const move = new Move(text, pointer, idOf(text, members));
  if (!members.every((member) => isGone(member) || move.keyword(member, 1))) return null;
  return {
    text: edited(text, [...withoutParts(members, isGone), ...move.edits]),
    dialect: dialect === undefined ? null : slice(text, dialect.value),
  };
}

class Move {
  readonly edits: Edit[] = [];
  private readonly text: string;
  private readonly pointer: string;
  private readonly id: string | null;

  constructor(text: string, pointer: string, id: string | null) {
    this.text = text;
    this.pointer = pointer;
    this.id = id;
  }

  /** False where this keyword, or one inside it, cannot be moved. Keywords that nobody knows may hold schemas too. */
  keyword({ name, value }: MemberSpan, depth: number): boolean {
    if (TIES.has(name)) return false;
    if (DATA.has(name)) return true;
    if (name === '$ref') return this.reference(value);
    if (MAPS.has(name)) return membersOf(this.text, value).every((member) => this.schema(member.value, depth + 1));
    return this.schema(value, depth);
  }

  private schema(span: Span, depth: number): boolean {
    if (depth > MAX_JSON_DEPTH) return false;
    const { text } = this;
    return (
      membersOf(text, span).every((member) => this.keyword(member, depth + 1)) &&
      itemsOf(text, span).every((item) => this.schema(item, depth + 1))
    );
  }

  private reference(value: Span): boolean {
    const ref: unknown = JSON.parse(slice(this.text, value));
    if (typeof ref !== 'string') return false;
    const { id } = this;
    const local = id !== null && (ref === id || ref.startsWith(`${id}#`)) ? ref.slice(id.length) : ref;
    if (local === '' || local === '#' || local.startsWith('#/')) {
      this.edits.push({ ...value, text: JSON.stringify(`#${this.pointer}${local.slice(1)}`) });
    }
    return true;
  }
}

function idOf(text: string, members: readonly MemberSpan[]): string | null {
  const member = lastMember(members, '$id');
  const id: unknown = member === undefined ? null : JSON.parse(slice(text, member.value));
  return typeof id === 'string' && id !== '' ? id.replace(/#$/, '') : null;
}

function slice(text: string, { start, end }: Span): string {
  return text.slice(start, end);
}
