import test, {type ExecutionContext} from 'ava'
import {type Deployment, type Options, openDeployment} from './deployment.ts'

export type TestDeployment = Deployment

/** How to end everything that this file started. The ends run after the last test, in reverse order. */
const begun: (() => Promise<unknown>)[] = []
test.after.always('the world ends', async () => {
  const ended = []
  for (const end of begun.toReversed()) ended.push(...(await Promise.allSettled([end()])))
  // An end that fails does not prevent the others, so the error is thrown only here.
  for (const end of ended) if (end.status === 'rejected') throw end.reason
})

/** Registers how to end something that a test file started. It ends before the parts of the deployments. */
export const endAfterTests = (end: () => Promise<unknown>) => void begun.push(end)

/** Starts a deployment for one test file, which ends after the last test. The tests of the file use different orgs. */
export const startTestDeployment = (t: ExecutionContext<any>, options: Options = {}): Promise<TestDeployment> =>
  openDeployment(t.title, options, end => begun.push(end))
