import {STATUS_CODES} from 'node:http'
import type {ZodOpenApiResponseObject, ZodOpenApiResponsesObject} from 'zod-openapi'
import type {AnswerShape, Route} from '../route.ts'
import {refusalSchema, requestId, retryAfter, sayCodes} from './refusal-schemas.ts'
import {refusalsOf} from './refusals.ts'

/** Every status a route answers: its own answers, and one response for all refusals of a status. */
export const responsesOf = (route: Route): ZodOpenApiResponsesObject => {
  const answers = Object.entries(route.answers ?? {}).map(([status, shapes]) => [
    status,
    describeAnswer(route, Number(status), [shapes].flat()),
  ])
  const refused = Object.entries(Object.groupBy(refusalsOf(route), ({status}) => status)).map(([status, possible = []]) => {
    return [status, describeRefusals(possible.map(({code}) => code))] as const
  })
  const responses: Record<string, ZodOpenApiResponseObject> = Object.fromEntries(refused)
  for (const [status, answer] of answers as [string, ZodOpenApiResponseObject][]) responses[status] = join(answer, responses[status])
  return responses as ZodOpenApiResponsesObject
}

type Codes = Parameters<typeof refusalSchema>[0]

const describeRefusals = (codes: Codes): ZodOpenApiResponseObject => ({
  description: sayCodes(codes),
  headers: {...requestId, ...(codes.some(code => waits.has(code)) && retryAfter)},
  content: {'application/json': {schema: refusalSchema(codes)}},
})

/** Codes that say how long to wait, some of them not always. */
const waits = new Set<string>([
  ...['RATE_LIMITED', 'BUSY', 'MAINTENANCE', 'UNAVAILABLE', 'WRITE_UNDER_WAY', 'CHANGE_IN_PROGRESS', 'CHANGE_UNCONFIRMED'],
  ...[
    'CONNECTION_THROTTLED',
    'DAILY_ALLOWANCE_SPENT',
    'CRM_REFUSED',
    'MODEL_UNAVAILABLE',
    'PAYMENT_PROVIDER_UNAVAILABLE',
    'RECORDS_MOVING',
  ],
])

const describeAnswer = ({example, refusals}: Route, status: number, shapes: readonly AnswerShape[]): ZodOpenApiResponseObject => {
  const isFirst = status === 200 || status === 201
  const content = shapes.flatMap(shape => {
    if (!('what' in shape))
      return [['application/json', {schema: shape, ...(isFirst && example?.answer !== undefined && {example: example.answer})}]]
    if (shape.type === null) return []
    return [[shape.type, shape.schema ? {schema: shape.schema} : {schema: {type: 'string'}}]]
  })
  const says = shapes.flatMap(shape => ('what' in shape ? [shape.what] : shape.description ? [shape.description] : []))
  return {
    description: says.join('; ') || (OWN[status] ?? STATUS_CODES[status]!),
    headers: {...requestId, ...headersOf(status, refusals?.includes('BAD_IF_MATCH') === true)},
    ...(content.length > 0 && {content: Object.fromEntries(content)}),
  }
}

const OWN: Record<number, string> = {200: 'Done', 201: 'Made', 202: 'Given to a worker: `Location` is where it is looked for'}

const text = {type: 'string'} as const

const headersOf = (status: number, hasVersion: boolean) => ({
  ...([202, 302, 303].includes(status) && {Location: {description: status === 202 ? 'Where the job is read' : 'Where to', schema: text}}),
  ...(status < 300 && hasVersion && {ETag: {description: 'The version, where the request had a condition', schema: text, example: '"8"'}}),
})

/** A status that is refused in the envelope, and by some in another form too. */
const join = (answer: ZodOpenApiResponseObject, refused: ZodOpenApiResponseObject | undefined): ZodOpenApiResponseObject => {
  if (!refused) return answer
  const [ours, theirs] = [answer.content ?? {}, refused.content ?? {}]
  const both = Object.fromEntries(
    Object.entries({...theirs, ...ours}).map(([type, media]) => {
      const other = theirs[type as keyof typeof theirs]
      return [type, media !== other && other ? {schema: {anyOf: [media!.schema, other.schema]}} : media]
    }),
  )
  return {
    description: `${answer.description}\n\n${refused.description}`,
    headers: {...refused.headers, ...answer.headers},
    content: both,
  } as ZodOpenApiResponseObject
}
