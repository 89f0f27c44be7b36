import { isResourcePath, METADATA_PATH } from './resource';
import type { OAuthSettings } from './settings';

/** Protected resource metadata (RFC 9728, section 2). */
export interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly scopes_supported?: readonly string[];
  readonly bearer_methods_supported: readonly string[];
  readonly resource_name: string;
}

/**
 * The metadata at `path`, `/.well-known/oauth-protected-resource` for the whole gateway or with the path of an
 * endpoint after it; null for any other path. Every server name is answered alike: which ones there are is not told
 * to those who are not known.
 */
export function metadataAt(
  path: string,
  { origin, oauth }: { readonly origin: string; readonly oauth: OAuthSettings },
): ResourceMetadata | null {
  if (!path.startsWith(METADATA_PATH)) return null;
  const resourcePath = path.slice(METADATA_PATH.length);
  if (resourcePath !== '' && !isResourcePath(resourcePath)) return null;
  const scopes = [...oauth.scopes, ...(oauth.callScope === null ? [] : [oauth.callScope])];
  return {
    resource: `${origin}${resourcePath}`,
    authorization_servers: [oauth.issuer],
    ...(scopes.length === 0 ? {} : { scopes_supported: [...new Set(scopes)] }),
    bearer_methods_supported: ['header'],
    resource_name: `Holdpoint gateway${resourcePath.replace(/^\/mcp\/?/, ' ').trimEnd()}`,
  };
}

/** What a challenge says beside where the metadata are. */
export interface ChallengeParts {
  /** Left out where the request named nobody (RFC 6750, section 3.1). */
  readonly error?: 'invalid_token' | 'insufficient_scope';
  readonly scopes: readonly string[];
}

/** The value of `WWW-Authenticate` (RFC 6750; RFC 9728, section 5.1). Without OAuth there are no metadata to name. */
export function challengeOf(metadataUrl: string | null, { error, scopes }: ChallengeParts): string {
  const parts = [
    ...(metadataUrl === null ? ['realm="Holdpoint gateway"'] : [`resource_metadata="${metadataUrl}"`]),
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
  ];
  return `Bearer ${parts.join(', ')}`;
}
