import { isNativeError } from 'node:util/types';
import { InterceptingCall, Metadata, status } from '@grpc/grpc-js';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor, type ConnectionOptions } from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;

/**
 * The SDK's own retries, and below them what they lack: a try that comes after the connection was closed ends its call,
 * where the SDK would throw in a timer and so end the process.
 */
export function grpcInterceptors(): Interceptor[] {
  return [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), closable];
}

const closable: Interceptor = (options, nextCall) => new InterceptingCall(opened(() => nextCall(options)));

function opened(open: () => Call): Call {
  try {
    return open();
  } catch (error) {
    if (isNativeError(error) && error.message === 'Channel has been shut down') return CLOSED;
    throw error;
  }
}

/** A call on a connection that is closed. */
const CLOSED: Call = {
  start: (_metadata, listener) => {
    const answer = { code: status.CANCELLED, details: 'the connection was closed', metadata: new Metadata() };
    // Not before whoever asked has what to wait for.
    queueMicrotask(() => {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.(answer);
    });
  },
  cancelWithStatus: () => undefined,
  getPeer: () => 'closed',
  getAuthContext: () => null,
  sendMessage: () => undefined,
  sendMessageWithContext: () => undefined,
  startRead: () => undefined,
  halfClose: () => undefined,
};
