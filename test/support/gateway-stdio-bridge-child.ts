import { runStdioBridge } from '../../gateway/stdio/bridge';
import { recordedLog } from './recorded-log';

// The bridge as a command: the address and the token are its arguments.
const [url = '', token = ''] = process.argv.slice(2);
const { stdin: input, stdout: output } = process;
void runStdioBridge({ url: new URL(url), token, input, output, log: recordedLog() });
