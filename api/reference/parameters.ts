import {z} from 'zod'
import type {ZodOpenApiParameterObject} from 'zod-openapi'
import type {Route} from '../route.ts'

/** What the path, the query and the headers of a request may hold. */
export const parametersOf = (route: Route): ZodOpenApiParameterObject[] => [...ofPath(route), ...ofQuery(route), ...ofHeaders(route)]

const ofPath = ({path, params, example}: Route): ZodOpenApiParameterObject[] =>
  [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => {
    const schema = shapeOf(params)[name] ?? z.string()
    const description = schema.description ?? KNOWN[name]
    return {in: 'path', name, required: true, ...(description && {description}), schema, ...exampleOf(example?.params, name)}
  })

/** Of a route whose path's schema says nothing of it: the gates have read it. */
const KNOWN: Record<string, string> = {org: 'The org the bearer opens'}

const ofQuery = ({query, example}: Route): ZodOpenApiParameterObject[] =>
  Object.entries(shapeOf(query)).map(([name, schema]) => ({
    in: 'query',
    name,
    required: !schema.safeParse(undefined).success,
    ...(schema.description && {description: schema.description}),
    schema,
    ...exampleOf(example?.query, name),
  }))

/** Headers are known from what a route answers and refuses: whoever has a version takes a condition, whoever gives work away a wish. */
const ofHeaders = ({answers = {}, refusals = []}: Route): ZodOpenApiParameterObject[] => {
  const types = Object.values(answers)
    .flat()
    .map(shape => ('what' in shape ? shape.type : 'application/json'))
  return [
    ...(refusals.includes('BAD_IF_MATCH') ? [IF_MATCH] : []),
    ...(304 in answers ? [IF_NONE_MATCH] : []),
    ...(202 in answers && types.includes('application/json') ? [PREFER] : []),
    ...(204 in answers && types.includes('text/event-stream') ? [LAST_EVENT_ID] : []),
  ]
}

const header = (name: string, description: string, example: string): ZodOpenApiParameterObject => ({
  ...{in: 'header', name, description, example, schema: z.string().optional()},
})

const IF_MATCH = header('If-Match', 'The version this change was made against, quoted or bare; `*` or nothing is no condition', '"7"')
const IF_NONE_MATCH = header('If-None-Match', 'The version one has: where it still holds, 304', '"7"')
const PREFER = header(
  'Prefer',
  '`wait=N` waits at most N seconds (60 at most) for the end of the work; `respond-async` does not wait. As RFC 7240 has it',
  'wait=30',
)
const LAST_EVENT_ID = header(
  'Last-Event-ID',
  'The id heard last: what has changed since is told, and 204 once the end was heard',
  'k3Jd0aQ1mZx7RtUv',
)

const shapeOf = (schema: z.ZodType | undefined): Record<string, z.ZodType> =>
  schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {}

const exampleOf = (example: object | undefined, name: string) => {
  const value = example && (example as Record<string, unknown>)[name]
  return value === undefined ? {} : {example: value}
}
