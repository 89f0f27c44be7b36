import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Where the build leaves the workflow code that workers load. */
export const BUNDLE_PATH = join(__dirname, '../workflow-bundle.js');

/**
 * What workflows use of core. It is pure, so all workflows of a worker may share one copy of it; anything else is loaded
 * again for each cached workflow, which is memory.
 */
const SHARED_MODULES = [
  'call-state',
  'digest',
  'display',
  'judge-decision',
  'member',
  'outcome',
  'turn',
  'turn-packing',
];

/** The workflow code of this build, with the tolerant payload converter in it. */
export async function buildBundle(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../workflows'),
    payloadConverterPath: require.resolve('../workflows/payload-converter'),
    workflowInterceptorModules: [require.resolve('../workflows/trace-header')],
    preloadModules: SHARED_MODULES.map((name) => require.resolve(`../core/${name}`)),
    logger: new DefaultLogger('WARN'),
    // Stack traces keep their lines; the sources themselves would make half of what every worker loads.
    webpackConfigHook: (config) => ({ ...config, devtool: 'inline-nosources-source-map' }),
  });
  return code;
}

if (require.main === module) {
  buildBundle()
    .then((code) => writeFile(BUNDLE_PATH, code))
    .catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exitCode = 1;
    });
}
