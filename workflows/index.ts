export { agentTurn } from './agent-turn';
export { lateDecision, readResult } from './side-jobs';
