export { agentTurn } from './agent-turn';
