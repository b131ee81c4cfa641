import type {Db, Pool, Tx} from '../../sql/database.ts'
import {findFollowsCrmRoles, setFollowsCrmRoles} from '../../sql/registry.ts'
import {chooseConnector} from '../crm/choose.ts'
import {type Actor, rankNow} from '../people/member.ts'
import type {Author, Change} from './change.ts'
import {type Asked, editRegistry} from './edit.ts'
import type {Settings} from './settings.ts'
import {loadRegistry} from './store.ts'

/** What `config/settings` shows. Who is an admin by the CRM's word is a setting too, and no part of the registry: no file moves it. */
type OrgSettings = Settings & {followsCrmRoles: boolean}
type SettingsPatch = {[N in keyof OrgSettings]?: OrgSettings[N] | undefined}

export const describeSettings = async (db: Db, org: string): Promise<OrgSettings> => ({
  ...(await loadRegistry(db, org)).settings,
  followsCrmRoles: await findFollowsCrmRoles(db, org),
})

/** What is left out stays. */
export const patchSettings = (db: Pool, actor: Actor, asked: Asked, {followsCrmRoles, ...patch}: SettingsPatch) =>
  editRegistry(db, actor, asked, async (registry, tx) => {
    const given = Object.entries(patch).filter(([, value]) => value !== undefined)
    const settings = {...registry.settings, ...Object.fromEntries(given)} as Settings
    const also = await follow(tx, actor, followsCrmRoles)
    return {registry: {...registry, settings}, also, settings: {...settings, followsCrmRoles: await findFollowsCrmRoles(tx, actor.org)}}
  })

/** It changes who is what in the org, so it takes the rank of changing members. */
const follow = async (tx: Tx, actor: Actor, follows: boolean | undefined): Promise<Change[]> => {
  const before = await findFollowsCrmRoles(tx, actor.org)
  if (follows === undefined || follows === before) return []
  await rankNow(tx, actor)
  await setFollowsCrmRoles(tx, {org: actor.org, follows})
  return [{page: 'members', subject: 'settings.followsCrmRoles', before, after: follows}]
}

/** Stops and starts the writing through one connection: the one named, or the only one. `paused` left out asks for nothing. */
export const pauseWriting = (
  db: Pool,
  author: Author,
  asked: Asked & {connector?: string | undefined},
  {paused}: {paused?: boolean | undefined},
) =>
  editRegistry(db, author, asked, async (registry, tx) => {
    const {org} = author
    if (paused === undefined) {
      if (asked.connector !== undefined) await chooseConnector(tx, {org, id: asked.connector})
      return {registry}
    }
    const {id} = await chooseConnector(tx, {org, id: asked.connector})
    const {[id]: _, ...others} = registry.writing
    return {registry: {...registry, writing: paused ? {...others, [id]: {paused: true as const}} : others}}
  })
