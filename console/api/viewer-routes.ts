import { createRoute, z } from '@hono/zod-openapi';
import { createEventStreams, type StreamDeps } from '../live/event-streams';
import { answer, answers, jsonContent } from './answers';
import { problem } from './problem';
import type { Api } from './routes';
import { text, texts, timeMs } from './schema-parts';

const me = z
  .object({ name: text, groups: texts, isOperator: z.boolean(), signedInAtMs: timeMs })
  .openapi('Viewer', { description: 'Who the token belongs to, as the active policy knows them.' });

const meRoute = createRoute({
  method: 'get',
  path: '/me',
  operationId: 'readViewer',
  tags: ['Viewer'],
  summary: 'Who the token belongs to',
  responses: answers({ description: 'The viewer.', content: jsonContent(me) }),
});

const eventsRoute = createRoute({
  method: 'get',
  path: '/events',
  operationId: 'followChanges',
  tags: ['Viewer'],
  summary: 'Server-sent events: each change that concerns the viewer, as it is recorded',
  description:
    'Each event has "data": {"seq", "kind", "operationId"}, and its seq as "id". What changed is read again by whoever is told. ' +
    'A reader that comes back with Last-Event-ID misses nothing; one that was away for too long gets the kind "reset". ' +
    'The stream ends after five minutes, and whenever a policy is applied.',
  request: {
    headers: z.object({
      'Last-Event-ID': z
        .string()
        .regex(/^\d{0,15}$/, 'it is the id of an event')
        .optional()
        .openapi({ description: 'The last event that was seen; left out, from now on.', example: '4711' }),
    }),
  },
  responses: answers(
    {
      description: 'The stream.',
      content: {
        'text/event-stream': {
          schema: z.string(),
          example: 'id: 4711\ndata: {"seq":4711,"kind":"request.opened","operationId":"op_9f2c"}\n\n',
        },
      },
    },
    ['TOO_MANY_STREAMS'],
  ),
});

export function addViewerRoutes(api: Api, deps: StreamDeps): void {
  const streams = createEventStreams(deps);
  api.openapi(meRoute, (c) => {
    const { name, groups, isOperator, signedInAtMs } = c.get('viewer');
    return answer(me, { name, groups, isOperator, signedInAtMs });
  });
  api.openapi(eventsRoute, (c) => {
    const opened = streams(c);
    if (opened.ok) return opened.response;
    if (opened.code === 'limit')
      return problem({ code: 'TOO_MANY_STREAMS', detail: 'A person has 20 streams at most. Close one first.' });
    return problem({ code: 'INVALID_REQUEST', detail: 'Last-Event-ID is the id of an event.' });
  });
}
