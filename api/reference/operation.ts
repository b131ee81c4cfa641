import type {ZodOpenApiOperationObject, ZodOpenApiRequestBodyObject} from 'zod-openapi'
import type {RouteAccess} from '../access.ts'
import type {Route, StreamShape} from '../route.ts'
import {parametersOf} from './parameters.ts'
import {responsesOf} from './responses.ts'

/** Converts a path to OpenAPI syntax: `/orgs/:org` becomes `/orgs/{org}`. */
export const pathOf = ({path}: Pick<Route, 'path'>): string => path.replaceAll(/[:*](\w+)/g, '{$1}')

export const describeOperation = (route: Route): ZodOpenApiOperationObject => {
  const requestBody = requestBodyOf(route)
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, whoMay(route.access)].filter(Boolean).join('\n\n'),
    security: securityOf(route.access),
    requestParams: parametersOf(route),
    ...(requestBody && {requestBody}),
    responses: responsesOf(route),
  }
}

/** Describes the required access in words, because OpenAPI schemes cannot express roles. */
const whoMay = (access: RouteAccess): string => {
  if ('public' in access) return 'Public: no authentication.'
  if ('operator' in access) return 'For the operator, with ADMIN_TOKEN.'
  if ('backoffice' in access) return `For staff${access.sessionOnly ? ' with a session' : ', or the operator with ADMIN_TOKEN'}.`
  const {role, sessionOnly, noOrg, oauth, embed} = access
  const who = noOrg ? 'For any signed-in person, also without an org' : `Requires the role \`${role}\` or a higher one`
  const how = sessionOnly
    ? ', and a session. API tokens are refused'
    : oauth
      ? '. MCP clients are accepted too'
      : embed
        ? '. Embed tokens are accepted too'
        : ''
  return `${who}${how}.`
}

const securityOf = (access: RouteAccess): Record<string, string[]>[] => {
  if ('public' in access) return []
  if ('operator' in access) return [{adminToken: []}]
  if ('backoffice' in access) return [{session: []}, ...(access.sessionOnly ? [] : [{adminToken: []}])]
  if (access.sessionOnly) return [{session: []}]
  return [{session: []}, {apiToken: []}, ...(access.oauth ? [{mcpClient: ['mcp']}] : []), ...(access.embed ? [{embedToken: []}] : [])]
}

const requestBodyOf = ({body, sends, example, mostBytes}: Route): ZodOpenApiRequestBodyObject | undefined => {
  if (body === undefined) return undefined
  const most = typeof body === 'object' && mostBytes ? `At most ${mostBytes.toLocaleString('en')} bytes` : ''
  const examples = example?.body === undefined ? {} : {example: example.body}
  if (sends) {
    const kinds = [sends].flat() as StreamShape[]
    const content = kinds.map(({type, schema}) => [type, {...(schema && {schema}), ...(kinds.length === 1 && examples)}] as const)
    return {description: kinds.map(({what}) => what).join('; '), required: true, content: Object.fromEntries(content)}
  }
  if (typeof body === 'string') return {required: true, content: {'application/octet-stream': {}}}
  // A schema that accepts `{}` needs no body.
  const required = !body.safeParse({}).success
  return {...(most && {description: most}), required, content: {'application/json': {schema: body, ...examples}}}
}
