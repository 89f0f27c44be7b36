const RESOURCE = /^\/mcp(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$/;

/** Where the metadata of protected resources stand (RFC 9728, section 3). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Whether this is the path of an endpoint: `/mcp`, or `/mcp/` and the name of a server. */
export function isResourcePath(path: string): boolean {
  return RESOURCE.test(path);
}
