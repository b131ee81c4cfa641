import {z} from 'zod'
import {tagOf, type VersionReply} from '../shared/configuration/version.ts'
import {reply} from './reply.ts'

/** The refusals that every configuration edit lists. The first two concern `If-Match`, which every edit accepts. */
export const ofEdit = ['BAD_IF_MATCH', 'REGISTRY_CONFLICT', 'NOT_FOUND'] as const
export const ofCondition =
  'With `If-Match: "7"`, the edit applies only if version 7 of the configuration is still the newest. The response, and its `ETag`, give the new version.'

/** Returns the response to a configuration edit, with the new version if it is known. A conditional request also gets an ETag. */
export const answerEdit = (body: object, versionReply: VersionReply) =>
  reply({
    json: {...body, ...(versionReply && {registryVersion: versionReply.version})},
    ...(versionReply?.tag && {headers: {etag: tagOf(versionReply.version)}}),
  })

export const proposed = z.literal('ai').optional().describe('`ai` if the value was proposed by AI. The history records it')
