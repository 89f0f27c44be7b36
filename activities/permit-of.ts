import { digestOf } from '../core/digest';
import type { ApprovalFacts } from '../core/outcome';
import type { PermitKey } from './permit-key';
import type { ReadyCall } from './prepare-call';
import { signPermit } from './sign-permit';

/** What one attempt to run a call adds to the call. */
export interface Attempt {
  readonly approval: ApprovalFacts | null;
  readonly leaseUntilMs: number;
  readonly attempt: number;
}

/** The signed permit of one attempt; it ends when the attempt can no longer be sending. */
export function permitOf(
  key: PermitKey,
  call: ReadyCall,
  { approval, leaseUntilMs, attempt }: Attempt,
): Promise<string> {
  const { ref } = call;
  const { operationId } = ref;
  return signPermit(
    {
      v: 1,
      id: `${operationId}.${attempt}`,
      requester: ref.requester,
      server: call.server.name,
      tool: call.tool.name,
      operationId,
      bindingDigest: call.bindingDigest,
      argumentsDigest: digestOf(call.filled),
      resourceVersion: call.resourceVersion,
      request: approval === null ? null : { operationId: approval.operationId, revision: approval.revision },
      deciders: approval?.deciders ?? [],
      askedRule: approval?.askedRule ?? null,
      permittedRule: approval?.permittedRule ?? null,
      emergency: approval?.emergency ?? false,
      verified: approval?.verified ?? true,
      issuedAtMs: Date.now(),
      expiresAtMs: leaseUntilMs,
    },
    key,
  );
}
