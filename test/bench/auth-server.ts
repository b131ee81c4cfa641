import {createServer, type RequestListener} from 'node:http'
import type {AddressInfo} from 'node:net'
import {json} from 'node:stream/consumers'
import Router from '@koa/router'
import Koa from 'koa'
import {z} from 'zod'
import {createApp} from '../../api/app.ts'
import {openTools} from '../../api/open-deps.ts'
import {route} from '../../api/route.ts'
import {readConfig} from '../../shared/config.ts'
import {openLog} from '../../shared/telemetry/log.ts'

/**
 * Parameters of the measured route. The route exists three times: in bare Koa, in our app without a bearer, and in our app with bearer, access
 * checks and schema.
 */
const Params = z.object({org: z.string()})
const Body = z.strictObject({name: z.string().min(1).max(200), rows: z.int().min(1), fields: z.array(z.string()).max(50)})
const answer = ({name, rows, fields}: z.output<typeof Body>) => ({name, rows, fields: fields.length})

const declared = {
  operationId: 'answerBody',
  tag: 'Service',
  summary: 'Answer a body',
  answers: {},
  refusals: [],
  method: 'post',
  params: Params,
  body: Body,
  handle: ({body}: {body: z.output<typeof Body>}) => answer(body),
} as const
const routes = [
  route({...declared, path: '/orgs/:org/bench', access: {role: 'operator'}}),
  route({...declared, path: '/public/:org/bench', access: {public: true}}),
]

const bare = () => {
  const router = new Router()
  router.post('/orgs/:org/bench', async ctx => {
    Params.parse(ctx.params)
    ctx.body = answer(Body.parse(await json(ctx.req)))
  })
  return new Koa().use(router.routes()).callback()
}

const listen = async (handle: RequestListener) => {
  const server = createServer(handle)
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const tools = await openTools(readConfig(), openLog('bench', 'silent'))
process.send!({bare: await listen(bare()), ours: await listen(createApp(tools, {routes}).callback())})
process.once('disconnect', () => process.exit(0))
