import {describeSource, type ReadSource} from '../shared/sources/describe.ts'
import type {Filled} from '../shared/templates/fill.ts'
import {type Reply, replyJson} from './reply.ts'
import type {Tools} from './route.ts'

type ReplyInput = Pick<Tools, 'parsing'> & {caller: {org: string}}

export const replySource = (input: ReplyInput, source: ReadSource): Promise<Reply> => replyTaken(input, {source, filled: null})

/** Replies with the source. `filled`: the result for the template slot that the file fills, or null without a template. */
export const replyTaken = async (
  {parsing, caller: {org}}: ReplyInput,
  {source, filled}: {source: ReadSource; filled: Filled | null},
): Promise<Reply> => {
  const described = await describeSource(parsing, org, source)
  return replyJson(`{"source":${described}${filled ? `,"filled":${JSON.stringify(filled)}` : ''}}`)
}
