import fs from 'node:fs'

const folder = '/dev/shm'
const gibibyte = 1024 ** 3

/**
 * A directory in memory, or null if there is too little: the tests' temporary databases and their log need one or two GiB, and a container
 * often has 64 MB.
 */
export const roomInMemory = (): string | null => {
  try {
    const {bavail, bsize} = fs.statfsSync(folder)
    return bavail * bsize > 4 * gibibyte && process.availableMemory() > 8 * gibibyte ? folder : null
  } catch {
    return null
  }
}
