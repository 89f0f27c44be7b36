/** `holdpoint/tool`: for the authors of tool servers. */
export { PERMIT_META_KEY } from '../core/permit';
export type { Permit } from '../core/permit';
export { killAt } from './kill-at';
export { once, ONCE_STEPS } from './once';
export type { OnceStep, OnStep, OperationTransaction } from './once';
export { inPostgres, inSqlite, OPERATION_TABLE } from './operation-table';
export { argumentsDigest, verifyPermit } from './permit';
export type { PermitCheck, PermitErrorCode, PermitVerdict } from './permit';
export type { PermitKeys } from './permit-keys';
