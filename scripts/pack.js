// Packs every published package and prints the paths of the tarballs, so that a project can install from a clone:
//   npm install $(npm --prefix ../tenon run -s pack)
import { packPackages } from './packages.js'

for (const { path } of packPackages()) console.log(path)
