import type {ExecutionContext} from 'ava'
import {readPlaceKey} from '../../shared/assistant/conversations/conversation-place.ts'
import {keepTurn, type TurnContent, type TurnQuestion} from '../../shared/assistant/conversations/store-turn.ts'
import {readAskedAt} from '../../sql/conversations.ts'
import type {Answer} from '../simulators/model/answers.ts'
import {type ModelSimulator, modelEnvironment, startModel} from '../simulators/model.ts'
import {type Home, openHome} from './ai.ts'
import {ok} from './importing.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from './test-deployment.ts'

/** A deployment with a model stand-in and the workers that the test names. */
export type Talking = {house: TestDeployment; model: ModelSimulator}

type Options = {kind?: 'openai' | 'anthropic'; paceMs?: number; workers?: string[]}

export const openTalking = async (
  t: ExecutionContext<any>,
  {kind = 'openai', paceMs = 0, workers = []}: Options = {},
): Promise<Talking> => {
  const model = await startModel({paceMs})
  endAfterTests(model.stop)
  return {model, house: await startTestDeployment(t, {workers, environment: modelEnvironment(model, kind)})}
}

export type Event = {event: string; data: any}

/** Parses the events of a stream that may be cut off. */
export const readEvents = (text: string): Event[] =>
  text
    .split('\n\n')
    .filter(frame => frame.startsWith('event: '))
    .map(frame => {
      const [event, data] = frame.split('\n')
      return {event: event!.slice('event: '.length), data: JSON.parse(data!.slice('data: '.length))}
    })

/** Returns a scripted model answer that calls this tool. */
export const calls = (name: string, input: unknown): Answer => ({calls: [{name, input}]})
export const resultOf = ({events}: {events: Event[]}) => events.find(({event}) => event === 'tool_result')?.data.output

/** Returns the configuration for another deployment with the same model. */
export const readModel = ({config}: TestDeployment, model: ModelSimulator, kind: 'openai' | 'anthropic') => ({
  ...config,
  ...modelEnvironment(model, kind),
})

/** Asks one question and reads the answer to its end. */
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

type MadeImport = {csv?: string; flow?: object | object[]}

/** Creates an org with the module People, and an import of one file into it. */
export const openImport = async (house: TestDeployment, options: Parameters<typeof openHome>[1] = {}, made: MadeImport = {}) => {
  const home = await openHome(house, {credits: 100_000, ...options})
  return {...home, ...(await addImport(home, made))}
}

export const addImport = async (
  {call, org, connector}: Pick<Home, 'call' | 'org' | 'connector'>,
  {csv = usualCsv, flow}: MadeImport = {},
) => {
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

/** The content of a turn without notes, targets and samples. */
const plain: TurnContent = {
  route: 'chat',
  question: 'Why?',
  answer: 'Because',
  notes: [],
  targets: [],
  samples: 'none',
  sent: 'Why?',
  ground: 'none',
}

/** Stores a turn as the service does after a model answer. `seconds`: the age of its question. */
export const keep = async (
  {db}: TestDeployment,
  {org, importId, person}: Pick<Talk, 'org' | 'importId' | 'person'>,
  place: unknown[],
  more: Partial<TurnContent> = {},
  seconds = 0,
  via: TurnQuestion['via'] = 'session',
) => {
  const parsed = readPlaceKey(JSON.stringify(place))
  const asking = {
    org,
    importId,
    person,
    via,
    place: parsed,
    sourceId: parsed.source ?? null,
    askedAt: new Date(Date.parse(await readAskedAt(db)) - seconds * 1000).toISOString(),
    draft: {draft: false, draftId: null, draftScope: null},
  }
  return db.transaction(tx => keepTurn(tx, asking, {...plain, ...more}))
}

export const key = (...parts: string[]) => JSON.stringify(parts)

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
