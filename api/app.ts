import type {IncomingMessage} from 'node:http'
import Router from '@koa/router'
import Koa, {type Context, type Middleware} from 'koa'
import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import {processEnd} from '../shared/process-end.ts'
import {assertAccess, type BackofficeGates, type Caller, type Effect, type Gates, type MemberCaller, type StaffCaller} from './access.ts'
import {admitInsider, isBackoffice} from './backoffice.ts'
import {openStream, readBytes, readJson} from './body.ts'
import {type NoteBearer, readCaller} from './caller.ts'
import {allowOrigins} from './cross-origin.ts'
import {assertOwnImport} from './embed-scope.ts'
import {envelope, invalid} from './envelope.ts'
import {refuseInMaintenance} from './maintenance.ts'
import {observe} from './observe.ts'
import {limitAddresses, openRateLimits, type RateLimits} from './rate-limit.ts'
import {send} from './reply.ts'
import {type ApiDeps, type ApiRequest, effectOf, type Route} from './route.ts'
import {routes} from './routes.ts'
import {securityHeaders} from './security-headers.ts'
import {readAuthorization} from './session-cookie.ts'
import {recordViewWrite} from './staff-write.ts'

/**
 * `observer` is middleware for tests that sees every response, refusals included. After it calls `next`, `ctx.state.route` contains the route
 * pattern, unless no route matched.
 */
type AppOptions = {isInMaintenance?: () => boolean; draining?: AbortSignal; routes?: Route[]; observer?: Middleware | undefined}

/**
 * Builds the app. Each request passes these steps in order: maintenance, rate limit by address, authentication, rate limit by bearer, org,
 * role, schema, handler.
 */
export const createApp = (
  deps: ApiDeps,
  {isInMaintenance = () => deps.config.MAINTENANCE, draining = never, routes: table = routes, observer}: AppOptions = {},
): Koa => {
  // Each path has one spelling, because the gates before the router compare paths literally.
  const router = new Router({sensitive: true, strict: true})
  const limits = openRateLimits(deps.config)
  for (const route of table.toSorted(literalFirst)) {
    router[route.method](route.path, serveRoute({...deps, limits}, route, draining))
    // The router adds HEAD to each GET. A GET with an effect refuses HEAD.
    if (route.method === 'get' && effectOf(route) !== 'read') router.stack.at(-1)!.methods = ['GET']
  }
  const app = new Koa({proxy: deps.config.TRUSTED_PROXIES > 0, maxIpsCount: deps.config.TRUSTED_PROXIES})
  app.on('error', error => deps.log.warn({err: error}, 'answer broke off'))
  app.use(observe(deps.log, draining, securityHeaders(deps.config)))
  if (observer) app.use(observer)
  app.use(allowOrigins(deps.config)).use(envelope(deps.log)).use(refuseSecondHost)
  app
    .use(refuseInMaintenance(deps.config, {isOn: isInMaintenance}))
    .use(limitAddresses(limits))
    .use(refuseBadAddress)
  app.use(router.routes()).use(refuseUnknown(deps, router))
  return app
}

type LimitedDeps = ApiDeps & {limits: RateLimits}

const never = new AbortController().signal

const serveRoute = (deps: LimitedDeps, route: Route, draining: AbortSignal): Middleware => {
  const {access, params, query, status = 200} = route
  return async ctx => {
    ctx.state.route = route.path
    ctx.state.challenge = route.challenge?.(deps.config)
    route.guard?.(deps.config, ctx.headers)
    const admitted = async () => ('public' in access ? null : admitRequest(deps, {access, effect: effectOf(route)}, ctx))
    const caller = await admitted()
    const input = {
      ...deps,
      // Created on first use, because few handlers log.
      get log() {
        return deps.log.child({request: ctx.state.request})
      },
      caller: caller as MemberCaller,
      params: read(params, ctx.params),
      query: read(query, ctx.query),
      body: await readBody(route, ctx.req),
      request: describeRequest(ctx, draining, admitted),
    }
    const {request, callerRequest} = ctx.state
    const answer = await recordViewWrite(deps, {caller, route, request, callerRequest, params: ctx.params}, () => route.handle(input))
    await send(ctx, answer, status)
  }
}

type GuardedRoute = {access: Gates | BackofficeGates; effect: Effect}

const admitRequest = async (deps: LimitedDeps, {access, effect}: GuardedRoute, ctx: Context): Promise<Caller | StaffCaller> => {
  const authorization = readAuthorization(deps.config, ctx)
  const note: NoteBearer = bearer => {
    ctx.state.caller = bearer
  }
  if (!('role' in access)) {
    const insider = await admitInsider(deps, {access, effect}, authorization, note)
    ctx.state.caller = {via: insider.via, person: insider.staff?.id, session: insider.session}
    return insider
  }
  const authContext = await readCaller(deps, authorization, note)
  await deps.limits.bearer(authContext.caller)
  assertAccess({access, effect}, authContext, ctx.params.org)
  if (access.embed === 'own') await assertOwnImport(deps.db, authContext.caller, ctx.params as {id: string; run?: string})
  return authContext.caller
}

const read = (schema: z.ZodType | undefined, value: unknown) => {
  const parsed = schema?.safeParse(value)
  if (parsed?.error) throw invalid(parsed.error)
  return parsed?.data
}

const readBody = async ({body, mostBytes}: Route, request: IncomingMessage) => {
  if (body === 'stream') return openStream(request)
  if (body === 'bytes') return readBytes(request, mostBytes)
  return body && read(body, await readJson(request, mostBytes))
}

const describeRequest = (
  {req, res, state, method, ip}: Context,
  draining: AbortSignal,
  assertAdmitted: ApiRequest['assertAdmitted'],
): ApiRequest => {
  const gone = new AbortController()
  res.once('close', () => res.writableFinished || gone.abort(draining.aborted ? processEnd : undefined))
  return {id: state.request, method, headers: req.headers, address: ip, signal: gone.signal, draining, assertAdmitted}
}

/** Sorts literal paths before patterns, such as `/records/search` before `/records/:id`, regardless of the order of declaration. */
const literalFirst = (one: Route, other: Route) => (shapeOf(one) < shapeOf(other) ? -1 : shapeOf(one) > shapeOf(other) ? 1 : 0)

const shapeOf = ({path}: Route) => path.replaceAll(/\/(:?)[^/]*/g, (_, isParameter) => (isParameter ? '1' : '0'))

/**
 * Rejects URLs that are not percent-encoded UTF-8, and URLs with NUL, which Postgres cannot store. Cursors are exempt: their signature
 * check answers `INVALID_CURSOR`.
 */
const refuseBadAddress: Middleware = (ctx, next) => {
  const parameters = ctx.querystring.split('&').filter(parameter => !parameter.startsWith('cursor='))
  try {
    if (!decodeURIComponent([ctx.path, ...parameters].join('&')).includes('\0')) return next()
  } catch {}
  throw new Refusal('INVALID', 'The URL is not percent-encoded UTF-8, or contains a NUL. Encode it again')
}

/** Refuses a request with several Host headers. Node uses the first, but a proxy in front may route by the last. */
const refuseSecondHost: Middleware = ({req: {rawHeaders}}, next) => {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  if (hosts.length <= 1) return next()
  throw new Refusal('INVALID', 'The request has more than one Host header. Send one')
}

/**
 * Answers an unknown path with 404, a wrong method with 405, and OPTIONS with 204. Under the backoffice prefixes, callers without access are
 * refused first, so that they cannot learn which paths exist.
 */
const refuseUnknown =
  (deps: ApiDeps, router: Router): Middleware =>
  async ctx => {
    if (isBackoffice(ctx.path)) await admitInsider(deps, {access: {backoffice: true}, effect: 'read'}, readAuthorization(deps.config, ctx))
    const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap(layer => layer.methods))]
    if (methods.length === 0) throw new Refusal('NOT_FOUND', 'No route has this path. Check the URL')
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed(ctx, methods)
    ctx.set('allow', methods.join(', '))
    ctx.status = 204
  }

const methodNotAllowed = (ctx: Context, methods: string[]) => {
  ctx.set('allow', methods.join(', '))
  return new Refusal('METHOD_NOT_ALLOWED', `This path does not support the method. Use ${methods.join(', ')}`)
}
