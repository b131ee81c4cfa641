import type {ZodOpenApiOperationObject, ZodOpenApiRequestBodyObject} from 'zod-openapi'
import type {Access} from '../access.ts'
import type {Route, Sent} from '../route.ts'
import {parametersOf} from './parameters.ts'
import {responsesOf} from './responses.ts'

/** Ours as OpenAPI writes it: `/orgs/:org` is `/orgs/{org}`. */
export const pathOf = ({path}: Pick<Route, 'path'>): string => path.replaceAll(/[:*](\w+)/g, '{$1}')

export const describeOperation = (route: Route, {id, tag}: {id: string; tag: string}): ZodOpenApiOperationObject => {
  const requestBody = requestBodyOf(route)
  return {
    operationId: id,
    tags: [tag],
    summary: route.summary,
    description: [route.description, whoMay(route.access)].filter(Boolean).join('\n\n'),
    security: securityOf(route.access),
    requestParams: parametersOf(route),
    ...(requestBody && {requestBody}),
    responses: responsesOf(route),
  }
}

/** In words, since a role is no scheme of OpenAPI's. */
export const whoMay = (access: Access): string => {
  if ('public' in access) return 'For everybody: no bearer is needed.'
  if ('operator' in access) return 'For the operator, with ADMIN_TOKEN alone.'
  if ('backoffice' in access) return `For staff${access.sessionOnly ? ' who signed in' : ', or the operator with ADMIN_TOKEN'}.`
  const {role, sessionOnly, noOrg, oauth} = access
  const who = noOrg ? 'For whoever is signed in, in an org or not' : `Needs the role \`${role}\` or a higher one`
  const how = sessionOnly ? ', with a session: an API token cannot do this' : oauth ? ', with any bearer, an MCP client’s too' : ''
  return `${who}${how}.`
}

const securityOf = (access: Access): Record<string, string[]>[] => {
  if ('public' in access) return []
  if ('operator' in access) return [{adminToken: []}]
  if ('backoffice' in access) return [{session: []}, ...(access.sessionOnly ? [] : [{adminToken: []}])]
  if (access.sessionOnly) return [{session: []}]
  return [{session: []}, {apiToken: []}, ...(access.oauth ? [{mcpClient: ['mcp']}] : [])]
}

const requestBodyOf = ({body, sends, example, mostBytes}: Route): ZodOpenApiRequestBodyObject | undefined => {
  if (body === undefined) return undefined
  const most = typeof body === 'object' && mostBytes ? `At most ${mostBytes.toLocaleString('en')} bytes` : ''
  const examples = example?.body === undefined ? {} : {example: example.body}
  if (sends) {
    const kinds = [sends].flat() as Sent[]
    const content = kinds.map(({type, schema}) => [type, {...(schema && {schema}), ...(kinds.length === 1 && examples)}] as const)
    return {description: kinds.map(({what}) => what).join('; '), required: true, content: Object.fromEntries(content)}
  }
  if (typeof body === 'string') return {required: true, content: {'application/octet-stream': {}}}
  // What takes `{}` takes no body at all.
  const required = !body.safeParse({}).success
  return {...(most && {description: most}), required, content: {'application/json': {schema: body, ...examples}}}
}
