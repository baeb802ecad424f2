/** The quickstart's network: two convolutions and two linear layers, about 25,000 parameters. */
import * as dx from "dxtensor";

/** Logits [N, 10] from images [N, 1, 28, 28]. */
export const digitNetwork = (device: dx.Device): dx.nn.Sequential => {
  const network = dx.nn.sequential(
    dx.nn.conv2d(1, 8, 5),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.conv2d(8, 16, 5),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.flatten(),
    dx.nn.linear(256, 64),
    dx.nn.relu(),
    dx.nn.linear(64, 10),
  );
  return network.to(device);
};
