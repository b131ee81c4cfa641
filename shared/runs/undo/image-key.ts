import {imageKeys} from '../../../sql/image-keys.ts'
import {openRunSeals, type RunSeal} from '../run-seal.ts'

/** Seals and opens the objects that hold a run's before images. */
export type ImageSeal = RunSeal

export const {make: makeImageSeal, find: findImageSeal, reseal: resealImageKeys} = openRunSeals(imageKeys, 'images')
