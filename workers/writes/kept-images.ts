import {setTimeout as sleep} from 'node:timers/promises'
import {Refusal} from '../../shared/errors.ts'
import type {AdmittedUnit} from '../../shared/runs/external/admit.ts'
import type {BeforeImage} from '../../shared/runs/undo/before-image.ts'
import type {ImageStore} from '../engine/images/before-images.ts'
import {RunPaused} from '../engine/run-endings.ts'
import type {Work} from '../worker.ts'
import type {SentUnits} from './send.ts'

/** The before images of one request of an external engine. The request stores them before it sends its items. */
export type KeptImages = {
  /** Stores the images of items, by the index of the item. */
  keep(list: ReadonlyMap<number, BeforeImage>): Promise<void>
  /** Notes that these units may be sent from now on. From then on, only the CRM's answer can void their images. */
  markSent(units: readonly AdmittedUnit[]): void
  /**
   * Voids the images of a unit if all its rows were refused or not sent. Call it before the settlement, so that a crash rarely leaves such an image.
   * Waits at most two seconds, because the settlement has a deadline.
   */
  voidRefused(units: readonly AdmittedUnit[], answered: Pick<SentUnits, 'ends'>): Promise<void>
  /** Voids the images of the items that were never sent. Call it when the request sends no further item. */
  voidRest(): Promise<void>
}

const mostWaitMs = 2_000

/** Stores images. If that is impossible at the moment, refuses the whole request. */
const keepOrRefuse = (images: ImageStore, list: BeforeImage[]): Promise<void> =>
  images.keep(list).catch((error: unknown) => {
    throw error instanceof RunPaused ? new Refusal('UNAVAILABLE', `${error.message}. Send it again`, {written: false}) : error
  })

/** If a void cannot be stored, logs this. The undo may then restore the values from before an item that was not written. */
export const openKeptImages = ({log}: Pick<Work, 'log'>, images: ImageStore): KeptImages => {
  const kept = new Map<number, BeforeImage>()
  const sent = new Set<number>()
  const voidItems = async (ats: number[]) => {
    const list = ats.flatMap(at => kept.get(at) ?? [])
    for (const at of ats) kept.delete(at)
    const voids = list.map(({marks: _, isUnread: __, ...image}): BeforeImage => ({...image, before: {}, sent: {}, isVoid: true}))
    await images.keep(voids).catch((err: unknown) => log.warn({err}, 'could not void the before images of unsent items'))
  }
  return {
    async keep(list) {
      await keepOrRefuse(images, [...list.values()])
      for (const [at, image] of list) kept.set(at, image)
    },
    markSent(units) {
      for (const {at} of units) sent.add(at)
    },
    async voidRefused(units, {ends}) {
      const refused: number[] = []
      let from = 0
      for (const {at, rows} of units) {
        const ofUnit = ends.slice(from, (from += rows.length))
        if (ofUnit.every(({outcome}) => outcome === 'refused' || outcome === 'unsent')) refused.push(at)
        else kept.delete(at)
      }
      await Promise.race([voidItems(refused), sleep(mostWaitMs, undefined, {ref: false})])
    },
    voidRest: () => voidItems([...kept.keys()].filter(at => !sent.has(at))),
  }
}
