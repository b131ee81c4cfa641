import {z} from 'zod'
import type {Route} from '../route.ts'

type Shape = Record<string, z.ZodType>

export const parametersOf = (route: Route) => ({
  path: z.object(ofPath(route)),
  query: z.object(ofQuery(route)),
  header: z.object(ofHeaders(route)),
})

const ofPath = ({path, params, example}: Route): Shape =>
  Object.fromEntries(
    [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => {
      const schema = shapeOf(params)[name] ?? z.string()
      const described = schema.description ? schema : schema.describe(KNOWN[name] ?? '')
      return [name, withExample(described, example?.params, name)]
    }),
  )

/** Descriptions of path parameters that a route does not declare itself. */
const KNOWN: Record<string, string> = {org: 'The org of the session or token'}

const ofQuery = ({query, example}: Route): Shape =>
  Object.fromEntries(Object.entries(shapeOf(query)).map(([name, schema]) => [name, withExample(schema, example?.query, name)]))

/**
 * Returns the request headers that the responses and refusals imply. A route for a versioned object accepts `If-Match`; a route with a 202
 * accepts `Prefer`.
 */
const ofHeaders = ({answers, refusals}: Route): Shape => {
  const types = Object.values(answers)
    .flat()
    .map(shape => ('what' in shape ? shape.type : 'application/json'))
  return {
    ...(refusals.includes('BAD_IF_MATCH') && {'If-Match': IF_MATCH}),
    ...(304 in answers && {'If-None-Match': IF_NONE_MATCH}),
    ...(202 in answers && types.includes('application/json') && {Prefer: PREFER}),
    ...(204 in answers && types.includes('text/event-stream') && {'Last-Event-ID': LAST_EVENT_ID}),
  }
}

const header = (description: string, example: string) => z.string().optional().meta({description, param: {example}})

const IF_MATCH = header('The version last read, quoted or bare. Without it, or with `*`, there is no condition', '"7"')
const IF_NONE_MATCH = header('The version you have. If it is still current, the response is 304', '"7"')
const PREFER = header('`wait=N` waits up to N seconds (at most 60) for the job; `respond-async` does not wait (RFC 7240)', 'wait=30')
const LAST_EVENT_ID = header(
  'The last event id received. Only later changes are sent; after the end, the response is 204',
  'k3Jd0aQ1mZx7RtUv',
)

const shapeOf = (schema: z.ZodType | undefined): Shape => (schema instanceof z.ZodObject ? (schema.shape as Shape) : {})

/** Adds the route's example to a parameter. Examples in routes are strings, as in a URL, so a numeric parameter gets a number. */
const withExample = (schema: z.ZodType, example: object | undefined, name: string) => {
  const value = example && (example as Record<string, unknown>)[name]
  if (value === undefined) return schema
  const {type} = z.toJSONSchema(schema, {io: 'input', unrepresentable: 'any'})
  return schema.meta({...schema.meta(), param: {example: type === 'integer' || type === 'number' ? Number(value) : value}})
}
