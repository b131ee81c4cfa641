import type {Db, Pool, Tx} from '../../sql/database.ts'
import {findFollowsCrmRoles, setFollowsCrmRoles} from '../../sql/registry.ts'
import {impersonationRefused} from '../accounts/impersonation.ts'
import {type Actor, rankNow} from '../accounts/member.ts'
import {chooseConnector} from '../crm/choose.ts'
import type {Author, Change} from './change.ts'
import {editRegistry, type RegistryEditInput} from './edit.ts'
import type {Settings} from './settings.ts'
import {loadRegistry} from './store.ts'

/** The settings of `config/settings`. `followsCrmRoles` is not part of the registry, so no registry document can change it. */
type OrgSettings = Settings & {followsCrmRoles: boolean}
type SettingsPatch = {[N in keyof OrgSettings]?: OrgSettings[N] | undefined}

export const describeSettings = async (db: Db, org: string): Promise<OrgSettings> => ({
  ...(await loadRegistry(db, org)).settings,
  followsCrmRoles: await findFollowsCrmRoles(db, org),
})

/** Changes settings. A value that is left out stays. */
export const patchSettings = (db: Pool, actor: Actor, input: RegistryEditInput, {followsCrmRoles, ...patch}: SettingsPatch) =>
  editRegistry(db, actor, input, async (registry, tx) => {
    const given = Object.entries(patch).filter(([, value]) => value !== undefined)
    const settings = {...registry.settings, ...Object.fromEntries(given)} as Settings
    const also = await follow(tx, actor, followsCrmRoles)
    return {registry: {...registry, settings}, also, settings: {...settings, followsCrmRoles: await findFollowsCrmRoles(tx, actor.org)}}
  })

/** Changes whether members' roles follow the CRM. The actor needs the same rights as for changing a member, so a staff view cannot do it. */
const follow = async (tx: Tx, actor: Actor, follows: boolean | undefined): Promise<Change[]> => {
  const before = await findFollowsCrmRoles(tx, actor.org)
  if (follows === undefined || follows === before) return []
  if (actor.staffView) throw impersonationRefused()
  await rankNow(tx, actor)
  await setFollowsCrmRoles(tx, {org: actor.org, follows})
  return [{page: 'members', subject: 'settings.followsCrmRoles', before, after: follows}]
}

/**
 * Pauses or resumes writing through one connection. Without `connector`, chooses the org's only connection or its only connected one. Without
 * `paused`, nothing changes.
 */
export const pauseWriting = (
  db: Pool,
  author: Author,
  input: RegistryEditInput & {connector?: string | undefined},
  {paused}: {paused?: boolean | undefined},
) =>
  editRegistry(db, author, input, async (registry, tx) => {
    const {org} = author
    if (paused === undefined) {
      if (input.connector !== undefined) await chooseConnector(tx, {org, id: input.connector})
      return {registry}
    }
    const {id} = await chooseConnector(tx, {org, id: input.connector})
    const {[id]: _, ...others} = registry.writing
    return {registry: {...registry, writing: paused ? {...others, [id]: {paused: true as const}} : others}}
  })
