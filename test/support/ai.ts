import type {ExecutionContext} from 'ava'
import {sql} from '../../sql/database.ts'
import type {DiscoveredModule} from '../../sql/discoveries.ts'
import {type ModelSimulator, modelEnvironment, startModel} from '../simulators/model.ts'
import {field} from './discovered.ts'
import {ok} from './importing.ts'
import {discover, moduleOf, openRegistry} from './registry.ts'
import {endAfterTests, startTestDeployment, type TestDeployment} from './test-deployment.ts'

/** A deployment with its own model stand-in. Tests create orgs as needed, without a CRM. */
export type Assisted = {house: TestDeployment; model: ModelSimulator}

type Options = {kind?: 'openai' | 'anthropic'; environment?: Record<string, string>}

export const openAssisted = async (t: ExecutionContext<any>, {kind = 'openai', environment = {}}: Options = {}): Promise<Assisted> => {
  const model = await startModel()
  endAfterTests(model.stop)
  return {model, house: await startTestDeployment(t, {environment: {...modelEnvironment(model, kind), ...environment}})}
}

/** A module People, with fields of every kind that a proposal could confuse. */
export const people: DiscoveredModule = {
  ...moduleOf('People', []),
  fields: [
    field('Last_Name', {label: 'Last Name', required: true}),
    field('Email', {type: 'email'}),
    field('Phone', {type: 'phone'}),
    field('City'),
    field('Favourite_Color', {label: 'Favourite Color'}),
    field('Tier', {type: 'picklist', picklist: ['Gold', 'Silver'].map(name => ({display: name, actual: name}))}),
    field('Joined', {type: 'date'}),
    field('Spend', {type: 'currency'}),
    field('Secret_Code', {label: 'Secret Code'}),
    field('Locked', {readOnly: true}),
    field('Owner', {type: 'ownerlookup'}),
    field('Score', {type: 'formula', creatable: false}),
    field('Orders', {type: 'subform', subform: {module: 'Order_Lines'}}),
    field('Hidden_Field', {label: 'Hidden Field'}),
  ],
}

export type Home = Awaited<ReturnType<typeof openHome>>

/** Creates an org whose CRM has the module People. With `credits`, its plan includes that many AI credits per period. */
export const openHome = async (
  house: TestDeployment,
  {credits, policy, pii = []}: {credits?: number; policy?: string; pii?: string[]} = {},
) => {
  const home = await openRegistry(house)
  await discover(house, home.org, home.connector, [people])
  if (credits !== undefined) await putOnCredits(house, home.org, credits)
  if (policy) await ok(home.call('PATCH', home.at('settings'), {aiSamplePolicy: policy}), 200)
  for (const name of pii) await ok(home.call('PATCH', home.at(`fields/People/${name}`), {pii: true}), 200)
  return home
}

/** Returns the author of a model request that belongs to no import. */
export const unplaced = ({org, person}: Pick<Home, 'org' | 'person'>) => ({
  org,
  person,
  via: 'session' as const,
  importId: null,
  place: null,
  draft: {draft: false, draftId: null, draftScope: null},
})

export const putOnCredits = ({db}: TestDeployment, org: string, credits: number) =>
  db.query(sql.unsafe`
    with made as (
      insert into plan_versions (id, key, version, name, rank, features, limits)
      select ${`assisted.${credits}`}, 'assisted', ${credits}, 'Assisted', rank, features, limits || ${sql.jsonb({aiCredits: credits})}
      from plan_versions where id = 'team.1' on conflict (id) do update set name = excluded.name returning id)
    update orgs set plan_version_id = made.id from made where orgs.id = ${org}`)

export const usageOf = async ({call}: Pick<Home, 'call'>, feature: string) => {
  const usage = await ok(call('GET', '/ai/usage'), 200)
  return {...usage.byFeature.find((one: {feature: string}) => one.feature === feature), balance: usage.credits}
}
