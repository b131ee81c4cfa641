import {STATUS_CODES} from 'node:http'
import {z} from 'zod'
import type {ZodOpenApiResponseObject, ZodOpenApiResponsesObject} from 'zod-openapi'
import type {Code} from '../../shared/errors.ts'
import type {AnswerShape, Route} from '../route.ts'
import {describeCodes, refusalSchema, requestId, retryAfter} from './refusal-schemas.ts'
import {refusalsOf} from './refusals.ts'

export const responsesOf = (route: Route): ZodOpenApiResponsesObject => {
  const responses: Record<string, ZodOpenApiResponseObject> = {}
  const refused = Object.groupBy(refusalsOf(route), ({status}) => status)
  for (const [status, possible = []] of Object.entries(refused))
    responses[status] = describeRefusals(
      Number(status),
      possible.map(({code}) => code),
    )
  for (const [status, shapes] of Object.entries(route.answers)) {
    const codes = refused[Number(status)]?.map(({code}) => code) ?? []
    responses[status] = describeAnswer(route, Number(status), [shapes].flat(), codes)
  }
  return responses as ZodOpenApiResponsesObject
}

const shared = new Map<string, ZodOpenApiResponseObject>()
/** A response with more codes than this gets no name, because two routes rarely have the same long list. */
const mostNamed = 6

/** Describes the refusals of one status. Routes with the same codes share the response, which has a name if the codes are few. */
const describeRefusals = (status: number, codes: Code[]): ZodOpenApiResponseObject => {
  const name = `${status}.${codes.join('.')}`
  const response = shared.get(name) ?? {
    description: describeCodes(codes),
    headers: {...requestId, ...(codes.some(code => waits.has(code)) && retryAfter)},
    content: {'application/json': {schema: refusalSchema(codes)}},
    ...(codes.length <= mostNamed && {id: name}),
  }
  shared.set(name, response)
  return response
}

/** Codes whose response may have Retry-After. */
const waits = new Set<string>([
  'RATE_LIMITED',
  'BUSY',
  'MAINTENANCE',
  'UNAVAILABLE',
  'WRITE_UNDER_WAY',
  'CHANGE_IN_PROGRESS',
  'CHANGE_UNCONFIRMED',
  'CONNECTION_THROTTLED',
  'DAILY_ALLOWANCE_SPENT',
  'CRM_REFUSED',
  'MODEL_UNAVAILABLE',
  'PAYMENT_PROVIDER_UNAVAILABLE',
  'RECORDS_MOVING',
])

const describeAnswer = (
  {answers, example, refusals}: Route,
  status: number,
  shapes: readonly AnswerShape[],
  refused: readonly Code[],
): ZodOpenApiResponseObject => {
  const given = status === [200, 201, 202].find(one => one in answers) ? example?.answer : undefined
  const answerShapes = shapes.map(shape =>
    'what' in shape ? shape : {type: 'application/json', what: shape.description ?? '', schema: shape},
  )
  const says = answerShapes.map(({what}) => what).filter(Boolean)
  const content = Object.fromEntries(
    answerShapes.flatMap(({type, schema}) =>
      type === null ? [] : [[type, {schema: schema ?? text, ...(schema && given !== undefined && {example: given})}]],
    ),
  )
  return {
    description: [says.join('; ') || (OWN[status] ?? STATUS_CODES[status]!), describeCodes(refused)].filter(Boolean).join('\n\n'),
    headers: {...requestId, ...headersOf(status, 304 in answers || refusals.includes('BAD_IF_MATCH'))},
    ...((answerShapes.some(({type}) => type !== null) || refused.length > 0) && {content: withRefusals(content, refused)}),
  }
}

/** Adds the error envelope to the content of a response, beside its own JSON schema. */
const withRefusals = (content: Record<string, {schema: z.ZodType | object}>, refused: readonly Code[]) => {
  if (refused.length === 0) return content
  const ours = content['application/json']?.schema
  const envelope = refusalSchema(refused)
  const schema = ours instanceof z.ZodType ? z.union([ours, envelope]) : envelope
  return {...content, 'application/json': {schema}}
}

const OWN: Record<number, string> = {200: 'Done', 201: 'Created', 202: 'Accepted. `Location` is the URL of the job'}

const text = {type: 'string'} as const

const headersOf = (status: number, hasVersion: boolean) => ({
  ...([202, 302, 303].includes(status) && {
    Location: {description: status === 202 ? 'URL of the job' : 'Target of the redirect', schema: text},
  }),
  ...(status < 300 &&
    hasVersion && {ETag: {description: 'The version. For a write, only if the request had `If-Match`', schema: text, example: '"8"'}}),
})
