import {z} from 'zod'
import {readIfMatch, type Told, tagOf} from '../shared/registry/version.ts'
import {reply} from './reply.ts'
import type {Asked} from './route.ts'

/** The version a write of configuration was made against, as its `If-Match` says. */
export const conditionOf = ({headers}: Asked) => readIfMatch(headers['if-match'])

/** The answer to a write: with the version where there is one to tell, without one and without a tag where there was no condition. */
export const answerWrite = (body: object, told: Told) =>
  reply({
    json: {...body, ...(told && {registryVersion: told.version})},
    ...(told?.tag && {headers: {etag: tagOf(told.version)}}),
  })

/** Of every write of configuration: `?proposedBy=ai` where the person used a value that an AI proposed. */
export const proposed = z.literal('ai').optional().describe('`ai`, where the person used a value that an AI proposed: the history says so')
