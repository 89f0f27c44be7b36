import { refusal, type ErrorCode } from '../core/errors';

/** Thrown by the client where nothing could be started or read; `code` is of the catalogue in `docs/errors.md`. */
export class HoldpointError extends Error {
  override readonly name = 'HoldpointError';

  readonly code: ErrorCode;

  constructor(code: ErrorCode, detail: string, options?: { readonly cause?: unknown }) {
    super(detail, options);
    this.code = code;
  }
}

/** The error for `code` with the catalogue's message. */
export function holdpointError(
  code: ErrorCode,
  values: Readonly<Record<string, string | number>>,
  cause?: unknown,
): HoldpointError {
  return new HoldpointError(code, refusal(code, values).detail, { cause });
}
