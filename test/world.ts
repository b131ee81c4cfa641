import test, {type ExecutionContext} from 'ava'
import {type Deployment, type Options, openDeployment} from './deployment.ts'

export type World = Deployment

/** What was begun in this file, ended after its last test, the last first. */
const begun: (() => Promise<unknown>)[] = []
test.after.always('the world ends', async () => {
  const ended = []
  for (const end of begun.toReversed()) ended.push(...(await Promise.allSettled([end()])))
  // One that fails keeps none of the others open.
  for (const end of ended) if (end.status === 'rejected') throw end.reason
})

/** Ends something of the file's own with its worlds, before what stands below it. */
export const endWithWorld = (end: () => Promise<unknown>) => void begun.push(end)

/** A deployment for one test file, ended by itself: an org is what keeps its tests apart. */
export const world = (t: ExecutionContext<any>, options: Options = {}): Promise<World> =>
  openDeployment(t.title, options, end => begun.push(end))
