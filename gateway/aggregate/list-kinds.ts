/** One of the lists that MCP servers give, page by page. */
export interface ListKind {
  readonly method: string;
  /** The member of the result that holds the items. */
  readonly member: string;
  /** The member of an item that tells it from others. */
  readonly key: 'name' | 'uri' | 'uriTemplate' | 'taskId';
  /** True where servers choose the key freely, so that it is shown with the name of its server. */
  readonly isPrefixed: boolean;
  /** What a server declares that has such a list. */
  readonly capability: string;
  /** What a server says when the list is not the same any more; null where nothing is said of it. */
  readonly changed: string | null;
}

export const TOOLS: ListKind = {
  method: 'tools/list',
  member: 'tools',
  key: 'name',
  isPrefixed: true,
  capability: 'tools',
  changed: 'notifications/tools/list_changed',
};

export const PROMPTS: ListKind = {
  method: 'prompts/list',
  member: 'prompts',
  key: 'name',
  isPrefixed: true,
  capability: 'prompts',
  changed: 'notifications/prompts/list_changed',
};

export const RESOURCES: ListKind = {
  method: 'resources/list',
  member: 'resources',
  key: 'uri',
  isPrefixed: false,
  capability: 'resources',
  changed: 'notifications/resources/list_changed',
};

export const TEMPLATES: ListKind = {
  ...RESOURCES,
  method: 'resources/templates/list',
  member: 'resourceTemplates',
  key: 'uriTemplate',
};

export const TASKS: ListKind = {
  method: 'tasks/list',
  member: 'tasks',
  key: 'taskId',
  isPrefixed: false,
  capability: 'tasks',
  changed: null,
};

export const LISTS: readonly ListKind[] = [TOOLS, PROMPTS, RESOURCES, TEMPLATES, TASKS];
