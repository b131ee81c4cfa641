import {describeSource, type ReadSource} from '../shared/files/sources/describe.ts'
import type {FilledSlot} from '../shared/mapping/templates/fill-slots.ts'
import {type Reply, replyJson} from './reply.ts'
import type {ApiDeps} from './route.ts'

type ReplyInput = Pick<ApiDeps, 'parsing'> & {caller: {org: string}}

export const replySource = (input: ReplyInput, source: ReadSource): Promise<Reply> => replyIngested(input, {source, filled: null})

/**
 * Replies with the description of a source. `filled` is the result for the template slot that the file fills, or null without a template.
 */
export const replyIngested = async (
  {parsing, caller: {org}}: ReplyInput,
  {source, filled}: {source: ReadSource; filled: FilledSlot | null},
): Promise<Reply> => {
  const described = await describeSource(parsing, org, source)
  return replyJson(`{"source":${described}${filled ? `,"filled":${JSON.stringify(filled)}` : ''}}`)
}
