import {imageKeys} from '../../../sql/image-keys.ts'
import {openRunSeals, type RunSeal} from '../run-seal.ts'

export type ImageSeal = RunSeal

export const {make: makeImageSeal, find: findImageSeal, reseal: resealImageKeys} = openRunSeals(imageKeys, 'images')
