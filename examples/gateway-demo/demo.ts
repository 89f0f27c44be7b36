import { runDemo } from '../run-demo';
import { tellGatewayStory } from './gateway-story';
import { inGatewayWorld } from './gateway-world';

/** `npm run demo:gateway`: a client of MCP, the gateway and the filesystem server, all of them real. */
runDemo((telling, stopping) => inGatewayWorld((world) => tellGatewayStory(world, telling), stopping));
