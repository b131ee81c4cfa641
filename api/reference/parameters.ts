import {z} from 'zod'
import type {Route} from '../route.ts'

type Shape = Record<string, z.ZodType>

/** What the path, the query and the headers of a request may hold, by name. */
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

/** Of a route whose schema of the path says nothing of it: the gates have read it. */
const KNOWN: Record<string, string> = {org: 'The org the bearer opens'}

const ofQuery = ({query, example}: Route): Shape =>
  Object.fromEntries(Object.entries(shapeOf(query)).map(([name, schema]) => [name, withExample(schema, example?.query, name)]))

/** Headers are known from what a route answers and refuses: whoever has a version takes a condition, whoever gives work away a wish. */
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

const IF_MATCH = header('The version this change was made against, quoted or bare; `*` or nothing is no condition', '"7"')
const IF_NONE_MATCH = header('The version one has: where it still holds, 304', '"7"')
const PREFER = header(
  '`wait=N` waits at most N seconds (60 at most) for the end of the work; `respond-async` does not wait. As RFC 7240 has it',
  'wait=30',
)
const LAST_EVENT_ID = header('The id heard last: what has changed since is told, and 204 once the end was heard', 'k3Jd0aQ1mZx7RtUv')

const shapeOf = (schema: z.ZodType | undefined): Shape => (schema instanceof z.ZodObject ? (schema.shape as Shape) : {})

/** A route's example is as it stands in an address; of a number the document has the number. */
const withExample = (schema: z.ZodType, example: object | undefined, name: string) => {
  const value = example && (example as Record<string, unknown>)[name]
  if (value === undefined) return schema
  const {type} = z.toJSONSchema(schema, {io: 'input', unrepresentable: 'any'})
  return schema.meta({...schema.meta(), param: {example: type === 'integer' || type === 'number' ? Number(value) : value}})
}
