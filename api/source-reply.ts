import {describeSource, type ReadSource} from '../shared/sources/describe.ts'
import type {Filled} from '../shared/templates/fill.ts'
import {type Reply, replyJson} from './reply.ts'
import type {Tools} from './route.ts'

type Asked = Pick<Tools, 'parsing'> & {caller: {org: string}}

export const replySource = (asked: Asked, source: ReadSource): Promise<Reply> => replyTaken(asked, {source, filled: null})

/** With what came of the file where it is for a slot of a template. */
export const replyTaken = async (
  {parsing, caller: {org}}: Asked,
  {source, filled}: {source: ReadSource; filled: Filled | null},
): Promise<Reply> => {
  const described = await describeSource(parsing, org, source)
  return replyJson(`{"source":${described}${filled ? `,"filled":${JSON.stringify(filled)}` : ''}}`)
}
