import type {IncomingMessage} from 'node:http'
import Router from '@koa/router'
import Koa, {type Context, type Middleware} from 'koa'
import type {z} from 'zod'
import {Refusal} from '../shared/errors.ts'
import {assertAccess, type BackofficeGates, type Caller, type Effect, type Gates, type Insider, type Member} from './access.ts'
import {admitInsider, isBackoffice} from './backoffice.ts'
import {openStream, readBytes, readJson} from './body.ts'
import {type NoteBearer, readCaller} from './caller.ts'
import {allowOrigins} from './cross-origin.ts'
import {envelope, invalid} from './envelope.ts'
import {refuseInMaintenance} from './maintenance.ts'
import {observe} from './observe.ts'
import {limitAddresses, openRateLimits, type RateLimits} from './rate-limit.ts'
import {send} from './reply.ts'
import {type Asked, effectOf, type Route, type Tools} from './route.ts'
import {routes} from './routes.ts'
import {securityHeaders} from './security-headers.ts'
import {recordViewWrite} from './staff-write.ts'

/** `witness` sees each answer when it is made, refusals too, with the pattern of its route in `ctx.state.route`: the tests hold it against what is declared. */
type Surroundings = {isInMaintenance?: () => boolean; draining?: AbortSignal; routes?: Route[]; witness?: Middleware | undefined}

/** Every gate in the one order there is: maintenance, envelope, bearer and its standing, own org, role, schema, handler. */
export const createApp = (
  tools: Tools,
  {isInMaintenance = () => tools.config.MAINTENANCE, draining = never, routes: table = routes, witness}: Surroundings = {},
): Koa => {
  // One spelling of an address: the gates before the router compare paths as they are.
  const router = new Router({sensitive: true, strict: true})
  const limits = openRateLimits(tools.config)
  for (const route of table.toSorted(literalFirst)) router[route.method](route.path, serve({...tools, limits}, route, draining))
  const app = new Koa({proxy: tools.config.TRUSTED_PROXIES > 0, maxIpsCount: tools.config.TRUSTED_PROXIES})
  app.on('error', error => tools.log.warn({err: error}, 'answer broke off'))
  app.use(observe(tools.log, draining, securityHeaders(tools.config)))
  if (witness) app.use(witness)
  app.use(allowOrigins(tools.config)).use(envelope(tools.log)).use(refuseSecondHost)
  app
    .use(refuseInMaintenance(tools.config, {isOn: isInMaintenance}))
    .use(limitAddresses(limits))
    .use(refuseBadAddress)
  app.use(router.routes()).use(refuseUnknown(tools, router))
  return app
}

type Limited = Tools & {limits: RateLimits}

const never = new AbortController().signal

const serve = (tools: Limited, route: Route, draining: AbortSignal): Middleware => {
  const {access, params, query, status = 200} = route
  const isQuietGet = route.method !== 'get' || effectOf(route) === 'read'
  return async ctx => {
    ctx.state.route = route.path
    ctx.state.challenge = route.challenge?.(tools.config)
    route.guard?.(tools.config, ctx.headers)
    if (ctx.method === 'HEAD' && !isQuietGet) throw methodNotAllowed(ctx, ['GET'])
    const admitted = async () => ('public' in access ? null : admit(tools, {access, effect: effectOf(route)}, ctx))
    const caller = await admitted()
    const input = {
      ...tools,
      // Made when a handler asks for it, which few do.
      get log() {
        return tools.log.child({request: ctx.state.request})
      },
      caller: caller as Member,
      params: read(params, ctx.params),
      query: read(query, ctx.query),
      body: await readBody(route, ctx.req),
      request: describeRequest(ctx, draining, admitted),
    }
    const {request, callerRequest} = ctx.state
    const answer = await recordViewWrite(tools, {caller, route, request, callerRequest, params: ctx.params}, () => route.handle(input))
    await send(ctx, answer, status)
  }
}

type Guarded = {access: Gates | BackofficeGates; effect: Effect}

const admit = async (tools: Limited, {access, effect}: Guarded, ctx: Context): Promise<Caller | Insider> => {
  const authorization = ctx.get('authorization')
  const note: NoteBearer = bearer => {
    ctx.state.caller = bearer
  }
  if (!('role' in access)) {
    const insider = await admitInsider(tools, {access, effect}, authorization, note)
    ctx.state.caller = {via: insider.via, person: insider.staff?.id, session: insider.session}
    return insider
  }
  const standing = await readCaller(tools, authorization, note)
  await tools.limits.bearer(standing.caller)
  assertAccess({access, effect}, standing, ctx.params.org)
  return standing.caller
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

const describeRequest = ({req, res, state, method, ip}: Context, draining: AbortSignal, assertAdmitted: Asked['assertAdmitted']): Asked => {
  const gone = new AbortController()
  res.once('close', () => res.writableFinished || gone.abort())
  return {id: state.request, method, headers: req.headers, address: ip, signal: gone.signal, draining, assertAdmitted}
}

/** `/records/search` before `/records/:id`, whichever file declares it. */
const literalFirst = (one: Route, other: Route) => (shapeOf(one) < shapeOf(other) ? -1 : shapeOf(one) > shapeOf(other) ? 1 : 0)

const shapeOf = ({path}: Route) => path.replaceAll(/\/(:?)[^/]*/g, (_, isParameter) => (isParameter ? '1' : '0'))

/** Postgres cannot hold a NUL. A cursor is checked by its signature instead, so a bad one is always `INVALID_CURSOR`. */
const refuseBadAddress: Middleware = (ctx, next) => {
  const parameters = ctx.querystring.split('&').filter(parameter => !parameter.startsWith('cursor='))
  try {
    if (!decodeURIComponent([ctx.path, ...parameters].join('&')).includes('\0')) return next()
  } catch {}
  throw new Refusal('INVALID', 'The address is not percent-encoded UTF-8')
}

/** Node takes the first of several Host headers; a proxy in front may route by the last. */
const refuseSecondHost: Middleware = ({req: {rawHeaders}}, next) => {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  if (hosts.length <= 1) return next()
  throw new Refusal('INVALID', 'The request has more than one Host header. Send one')
}

/** In the backoffice only to whoever may be there. */
const refuseUnknown =
  (tools: Tools, router: Router): Middleware =>
  async ctx => {
    if (isBackoffice(ctx.path)) await admitInsider(tools, {access: {backoffice: true}, effect: 'read'}, ctx.get('authorization'))
    const methods = [...new Set(router.match(ctx.path, ctx.method).path.flatMap(layer => layer.methods))]
    if (methods.length === 0) throw new Refusal('NOT_FOUND', 'There is nothing at this address')
    if (ctx.method !== 'OPTIONS') throw methodNotAllowed(ctx, methods)
    ctx.set('allow', methods.join(', '))
    ctx.status = 204
  }

const methodNotAllowed = (ctx: Context, methods: string[]) => {
  ctx.set('allow', methods.join(', '))
  return new Refusal('METHOD_NOT_ALLOWED', `This address takes ${methods.join(', ')}`)
}
