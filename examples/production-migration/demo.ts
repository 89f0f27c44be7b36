import { runDemo } from '../run-demo';
import { tellStory } from './demo-story';
import { inWorld } from './demo-world';

/** `npm run demo`: the worked example on real processes. */
runDemo((telling, stopping) => inWorld((world) => tellStory(world, telling), stopping));
