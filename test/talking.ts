import type {ExecutionContext} from 'ava'
import {type Asking, keepTurn, type Said} from '../shared/conversations/keep.ts'
import {readPlaceKey} from '../shared/conversations/place.ts'
import {readAskedAt} from '../sql/conversations.ts'
import {type Home, openHome} from './ai.ts'
import {ok} from './importing.ts'
import type {Answer} from './simulators/model/answers.ts'
import {type ModelStandIn, modelEnvironment, startModel} from './simulators/model.ts'
import {endWithWorld, type World, world} from './world.ts'

/** A deployment with a model and the workers a conversation's imports need. */
export type Talking = {house: World; model: ModelStandIn}

type Options = {kind?: 'openai' | 'anthropic'; paceMs?: number; workers?: string[]}

export const openTalking = async (
  t: ExecutionContext<any>,
  {kind = 'openai', paceMs = 0, workers = []}: Options = {},
): Promise<Talking> => {
  const model = await startModel({paceMs})
  endWithWorld(model.stop)
  return {model, house: await world(t, {workers, environment: modelEnvironment(model, kind)})}
}

export type Event = {event: string; data: any}

/** What is left of a stream of server-sent events, whole or broken off. */
export const readEvents = (text: string): Event[] =>
  text
    .split('\n\n')
    .filter(frame => frame.startsWith('event: '))
    .map(frame => {
      const [event, data] = frame.split('\n')
      return {event: event!.slice('event: '.length), data: JSON.parse(data!.slice('data: '.length))}
    })

/** A model's script: it calls this tool. */
export const calls = (name: string, input: unknown): Answer => ({calls: [{name, input}]})
/** What the first tool that was called answered. */
export const resultOf = ({events}: {events: Event[]}) => events.find(({event}) => event === 'tool_result')?.data.output

/** What a deployment beside the house is told, to ask the same model. */
export const readModel = ({config}: World, model: ModelStandIn, kind: 'openai' | 'anthropic') => ({
  ...config,
  ...modelEnvironment(model, kind),
})

/** One question, listened to until its end. */
export const chat = async ({call}: Pick<Home, 'call'>, body: object) => {
  const answer = await call('POST', '/ai/chat', body)
  const events = answer.status === 200 ? readEvents(answer.text) : []
  const last = events.at(-1)
  return {...answer, events, done: last?.event === 'done' ? last.data : null, text: wordsOf(events)}
}

export const wordsOf = (events: Event[]) =>
  events
    .filter(({event}) => event === 'text')
    .map(({data}) => data.text)
    .join('')

type Made = {csv?: string; flow?: object | object[]}

/** An org with people, and an import of one file of them. */
export const openImport = async (house: World, options: Parameters<typeof openHome>[1] = {}, made: Made = {}) => {
  const home = await openHome(house, {credits: 100_000, ...options})
  return {...home, ...(await addImport(home, made))}
}

export const addImport = async ({call, org, connector}: Pick<Home, 'call' | 'org' | 'connector'>, {csv = usualCsv, flow}: Made = {}) => {
  const {import: found} = await ok(call('POST', `/orgs/${org}/imports`, {name: 'Test', connectorId: connector}), 201)
  const path = `/orgs/${org}/imports/${found.id}`
  const addSource = async (text = csv): Promise<string> =>
    (await ok(call('POST', `${path}/sources?name=people.csv`, text, {'content-type': 'text/csv'}), 201)).source.id
  const source = await addSource()
  const flows = flow ? [flow].flat().map((one, at) => ({id: `f${at}`, sourceId: source, ...one})) : null
  if (flows) await ok(call('PUT', `${path}/flows`, flows), 200)
  const turns = async (query: Record<string, string> = {}) =>
    ok(call('GET', `${path}/conversations?${new URLSearchParams(query)}`), 200) as Promise<{turns: any[]; nextCursor: string | null}>
  return {importId: found.id as string, path, source, addSource, turns}
}
export type Talk = Awaited<ReturnType<typeof openImport>>

const usualCsv = 'Last Name,Favourite Color,City\nBerg,teal,Ulm\nWolf,pink,Bonn\n'

/** What there is to say of a turn that nobody was asked for. */
const plain: Said = {
  ...{route: 'chat', question: 'Why?', answer: 'Because', notes: [], targets: [], samples: 'none', sent: 'Why?', ground: 'none'},
}

/** A turn as it is kept once a model has answered. `seconds`: how long ago it was asked. */
export const keep = async (
  {db}: World,
  {org, importId, person}: Pick<Talk, 'org' | 'importId' | 'person'>,
  place: unknown[],
  more: Partial<Said> = {},
  seconds = 0,
  via: Asking['via'] = 'session',
) => {
  const asking = {
    ...{org, importId, person, via, place: readPlaceKey(JSON.stringify(place))},
    askedAt: new Date(Date.parse(await readAskedAt(db)) - seconds * 1000).toISOString(),
    draft: {draft: false, draftId: null, draftScope: null},
  }
  return db.transaction(tx => keepTurn(tx, asking, {...plain, ...more}))
}

/** The key of a place. */
export const key = (...parts: string[]) => JSON.stringify(parts)

/** Every turn, page by page. */
export const walk = async (talk: Talk, query: Record<string, string> = {}, between: () => Promise<unknown> = async () => {}) => {
  const found: any[] = []
  for (let cursor: string | null = null, first = true; first || cursor !== null; first = false) {
    const page = await talk.turns({...query, ...(cursor !== null && {cursor})})
    found.push(...page.turns)
    cursor = page.nextCursor
    await between()
  }
  return found
}
