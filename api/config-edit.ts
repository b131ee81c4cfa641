import {z} from 'zod'
import {type Told, tagOf} from '../shared/registry/version.ts'
import {reply} from './reply.ts'

/** What an edit of the configuration, which may be made against a version, refuses with, and what the reference says of it. */
export const ofEdit = ['BAD_IF_MATCH', 'REGISTRY_CONFLICT', 'NOT_FOUND'] as const
export const ofCondition =
  'With `If-Match: "7"` it is made against version 7 of the configuration, and refused where that is not the newest any more; the answer tells the version it made, in its `ETag` too.'

/** The answer to an edit: with the version where there is one to tell, without one and without a tag where there was no condition. */
export const answerEdit = (body: object, told: Told) =>
  reply({
    json: {...body, ...(told && {registryVersion: told.version})},
    ...(told?.tag && {headers: {etag: tagOf(told.version)}}),
  })

/** Of every edit: `?proposedBy=ai` where the person used a value that an AI proposed. */
export const proposed = z.literal('ai').optional().describe('`ai`, where the person used a value that an AI proposed: the history says so')
